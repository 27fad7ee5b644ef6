/**
 * Deletes volumes whose claim is gone (`Released`), whatever created them. A listener volume has no backing storage to delete
 * first.
 */
import { DRIVER_NAME } from '../../api/listeners/names.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import type { PersistentVolume } from '../../kube/objects.ts';
import { persistentVolumes } from '../../kube/resource.ts';
import type { Reconcile } from '../../work/reconcile.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { PROVISIONED_BY } from '../cluster/volumes.ts';

/** Finalizer with which external-provisioner protects a volume until its backing storage is deleted. */
const FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';

/** `unprotect`: remove the finalizer, because no external-provisioner runs that would do it. */
export function reclaimStep({ metadata, spec, status }: PersistentVolume): 'nothing' | 'delete' | 'unprotect' {
  if (spec?.csi?.driver !== DRIVER_NAME || (metadata.annotations?.[PROVISIONED_BY] ?? DRIVER_NAME) !== DRIVER_NAME) return 'nothing';
  const unprotect = metadata.finalizers?.includes(FINALIZER) === true ? 'unprotect' : 'nothing';
  if (spec.persistentVolumeReclaimPolicy !== 'Delete') return unprotect;
  if (status?.phase !== 'Released') return 'nothing';
  return metadata.deletionTimestamp === undefined ? 'delete' : unprotect;
}

/** Keys are names of PersistentVolumes. */
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
