/**
 * The PersistentVolume of a claim. Pure. It equals the one that external-provisioner creates from this driver's responses,
 * including the name.
 */
import { DRIVER_NAME, LISTENER_NAMESPACE_LABEL, LISTENER_NAME_LABEL, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../kube/objects.ts';
import { persistentVolumeClaims, apiVersionOf } from '../../kube/resource.ts';
import { storageClassOf, volumeNameFor } from '../cluster/claims.ts';
import { PROVISIONED_BY, targetOf } from '../cluster/volumes.ts';
import { refuseName } from '../listeners/service-plan.ts';
import { BLOCK, type Selection } from './volume-request.ts';

/**
 * Annotations in which external-provisioner finds the Secrets for a deletion. It writes empty values if there are none. If they
 * are absent, it looks up the StorageClass.
 */
const DELETION_SECRETS = [
  'volume.kubernetes.io/provisioner-deletion-secret-name',
  'volume.kubernetes.io/provisioner-deletion-secret-namespace',
];

const FS_TYPES: ReadonlySet<string> = new Set(['csi.storage.k8s.io/fstype', 'fstype']);

/** @param node node to which the volume is pinned; undefined for any node */
export function planVolume(
  claim: PersistentVolumeClaim,
  {
    storageClass,
    selection,
    node,
  }: { readonly storageClass: StorageClass; readonly selection: Selection; readonly node: string | undefined },
): PersistentVolume {
  const { namespace, name, uid } = claim.metadata;
  const { accessModes, resources, volumeMode } = claim.spec ?? {};
  const { parameters = {}, mountOptions, reclaimPolicy = 'Delete' } = storageClass;
  const fsType = Object.entries(parameters).find(([key]) => FS_TYPES.has(key.toLowerCase()))?.[1];
  const volume: PersistentVolume = {
    metadata: {
      name: volumeNameFor(claim),
      annotations: { [PROVISIONED_BY]: DRIVER_NAME, ...Object.fromEntries(DELETION_SECRETS.map((key) => [key, ''])) },
    },
    spec: {
      accessModes: accessModes ?? [],
      capacity: { storage: resources?.requests?.['storage'] ?? '1' },
      claimRef: {
        apiVersion: apiVersionOf(persistentVolumeClaims),
        kind: persistentVolumeClaims.kind,
        ...(namespace === undefined ? {} : { namespace }),
        ...(name === undefined ? {} : { name }),
        ...(uid === undefined ? {} : { uid }),
      },
      csi: {
        driver: DRIVER_NAME,
        volumeHandle: volumeNameFor(claim),
        volumeAttributes: { [selection.annotation]: selection.name },
        ...(fsType === undefined ? {} : { fsType }),
      },
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClassOf(claim),
      ...(mountOptions === undefined ? {} : { mountOptions }),
      ...(volumeMode === undefined ? {} : { volumeMode }),
      ...(node === undefined ? {} : { nodeAffinity: affinityTo(node) }),
    },
  };
  return labelled(volume);
}

/** Names the unsupported request, for the claim's author. */
export function whyUnsupported({ spec = {} }: PersistentVolumeClaim): string | undefined {
  if (spec.volumeMode === 'Block') return BLOCK;
  if (spec.dataSource != null || spec.dataSourceRef != null) {
    return 'A listener volume cannot start with existing content: remove dataSource and dataSourceRef.';
  }
  if (spec.selector != null) return 'A listener volume is created for its claim, not selected from existing volumes: remove the selector.';
  if (spec.volumeAttributesClassName != null && spec.volumeAttributesClassName !== '') {
    return 'A listener volume has no modifiable attributes: remove volumeAttributesClassName.';
  }
  return undefined;
}

function affinityTo(node: string): NonNullable<NonNullable<PersistentVolume['spec']>['nodeAffinity']> {
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: TOPOLOGY_KEY, operator: 'In', values: [node] }] }] } };
}

/** Sets the Listener's labels at creation, which a mount would otherwise add later (mounts/mount-preparation.ts). */
function labelled(volume: PersistentVolume): PersistentVolume {
  const target = targetOf(volume);
  // If the Listener's name is too long for a label, the mount is refused with advice.
  if (target === undefined || refuseName(target.name) !== undefined) return volume;
  const labels = { [LISTENER_NAMESPACE_LABEL]: target.namespace, [LISTENER_NAME_LABEL]: target.name };
  return { ...volume, metadata: { ...volume.metadata, labels } };
}
