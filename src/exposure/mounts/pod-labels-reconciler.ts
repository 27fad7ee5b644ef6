/**
 * Restores the label by which a Listener's Service selects a running pod if something else removed it. Running pods are not
 * watched. A pod that left the Service's endpoints triggers this, and so does a pod that ends.
 */
import type { KubeClient } from '../../kube/contract.ts';
import { pods } from '../../kube/resource.ts';
import type { Reconcile } from '../../work/reconcile.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { targetOf } from '../cluster/volumes.ts';
import { checkMount, endOf, isOwnedByVolume, ownerOf } from './mount-plan.ts';
import { MountPreparation } from './mount-preparation.ts';

/** Keys are those of PodListeners. */
export function createPodLabelsReconciler({ client, caches }: { readonly client: KubeClient; readonly caches: ClusterCaches }): Reconcile {
  const preparation = new MountPreparation(client, caches);
  return async (key, signal) => {
    const request = caches.podListeners.get(key);
    if (request === undefined || Object.keys(request.spec.listeners).length === 0) return undefined;
    const { namespace = '' } = request.metadata;
    const pod = await client.find(pods, { namespace, name: ownerOf(request)?.name ?? '-' }, { signal });
    if (pod === undefined || endOf(pod, request) !== undefined) return undefined;
    for (const handle of Object.keys(request.spec.mounts ?? {})) {
      const [volume] = caches.volumes.by('handle', handle);
      const target = volume === undefined ? undefined : targetOf(volume);
      const listener = target === undefined ? undefined : caches.listeners.get(`${target.namespace}/${target.name}`);
      if (volume === undefined || listener === undefined || !checkMount(request, pod, volume).ok) continue;
      // As in a mount, a user's Listener that has the claim's name does not select the pod.
      if (target?.kind === 'class' && !isOwnedByVolume(listener, volume)) continue;
      await preparation.label(listener, { volume, pod }, signal);
    }
    return undefined;
  };
}
