import { ApiError } from '../../../src/kube/errors.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kube/resource.ts';
import type { KubeClient } from '../../../src/kube/contract.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../src/kube/objects.ts';
import { startInformer } from '../../../src/kube/watch/informer.ts';

export interface ProvisionerOptions {
  readonly driver: string;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

/** The scheduler's, on a claim that waits for its first consumer: from here on a volume is wanted. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/**
 * Makes a volume for each claim as soon as a node is chosen, by one write, and removes it when the claim is gone. Binding is left to
 * kube-controller-manager, as every provisioner leaves it. Returns once both watches stand.
 */
export async function provision({ driver, client, signal }: ProvisionerOptions): Promise<void> {
  const warn = (error: unknown): void => {
    if (!signal.aborted && !isDone(error)) process.emitWarning(`${driver}: ${error instanceof Error ? error.message : String(error)}`);
  };
  const created = new Set<string | undefined>();
  const claims = startInformer(client, persistentVolumeClaims, { signal });
  claims.onChange(({ object }) => {
    const { metadata, spec } = object;
    const isPlaced = metadata.annotations?.[SELECTED_NODE] !== undefined;
    if (spec?.storageClassName !== driver || spec.volumeName !== undefined || !isPlaced || created.has(metadata.uid)) return;
    created.add(metadata.uid);
    client.create(persistentVolumes, volumeFor(object, driver)).catch(warn);
  });
  const volumes = startInformer(client, persistentVolumes, { signal });
  volumes.onChange(({ object: { metadata, spec, status } }) => {
    const isLeft = spec?.csi?.driver === driver && status?.phase === 'Released' && metadata.deletionTimestamp === undefined;
    if (isLeft) client.delete(persistentVolumes, { name: metadata.name ?? '' }).catch(warn);
  });
  await Promise.all([claims.synced, volumes.synced]);
}

function volumeFor({ metadata }: PersistentVolumeClaim, driver: string): PersistentVolume {
  const { namespace = '', name = '', uid = '' } = metadata;
  const volume = `pvc-${uid}`;
  const spec = {
    storageClassName: driver,
    capacity: { storage: '1' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Delete',
    csi: { driver, volumeHandle: volume },
    claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
  };
  return { metadata: { name: volume, annotations: { 'pv.kubernetes.io/provisioned-by': driver } }, spec };
}

/** Another client was faster: the clean-up after a round deletes everything, too. */
function isDone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
