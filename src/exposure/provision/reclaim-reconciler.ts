/** Deletes volumes whose claim is gone (`Released`), whoever made them. There is nothing behind a listener volume that would have to go first. */
import { DRIVER_NAME } from '../../api/listeners/names.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import type { PersistentVolume } from '../../kube/objects.ts';
import { persistentVolumes } from '../../kube/resource.ts';
import type { Reconcile } from '../../work/reconcile.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { PROVISIONED_BY } from '../cluster/volumes.ts';

/** By this external-provisioner keeps a volume that it made or found until what is behind it is deleted. */
const FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';

/** `unprotect`: take the finalizer away, for which nobody else is there. */
export function reclaimStep({ metadata, spec, status }: PersistentVolume): 'nothing' | 'delete' | 'unprotect' {
  if (spec?.csi?.driver !== DRIVER_NAME || (metadata.annotations?.[PROVISIONED_BY] ?? DRIVER_NAME) !== DRIVER_NAME) return 'nothing';
  const unprotect = metadata.finalizers?.includes(FINALIZER) === true ? 'unprotect' : 'nothing';
  if (spec.persistentVolumeReclaimPolicy !== 'Delete') return unprotect;
  if (status?.phase !== 'Released') return 'nothing';
  return metadata.deletionTimestamp === undefined ? 'delete' : unprotect;
}

/** The key is the name of a PersistentVolume. */
export function createReclaimReconciler({ client, caches }: { readonly client: KubeClient; readonly caches: ClusterCaches }): Reconcile {
  return async (name, signal) => {
    const volume = caches.volumes.get(name);
    const step = volume === undefined ? 'nothing' : reclaimStep(volume);
    if (volume === undefined || step === 'nothing') return undefined;
    const { uid, resourceVersion, finalizers = [] } = volume.metadata;
    try {
      if (step === 'delete') await client.delete(persistentVolumes, { name }, { signal, ...(uid === undefined ? {} : { uid }) });
      else {
        const patch = { metadata: { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== FINALIZER) } };
        await client.patch(persistentVolumes, { name }, patch, { type: 'merge', signal });
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  };
}
