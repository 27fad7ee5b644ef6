/**
 * `nodeLossPolicy: Release`: gives up the address of a deleted node by deleting the claim that is pinned to it. The claim's owner
 * (a StatefulSet, or the pod of an ephemeral volume) creates a new one, which may use any node. A listener volume holds no data
 * that could be lost.
 */
import type { EventRecorder, KubeClient } from '../../kube/contract.ts';
import type { Reconcile } from '../../work/reconcile.ts';
import { nodes, persistentVolumeClaims } from '../../kube/resource.ts';
import type { PersistentVolume } from '../../kube/objects.ts';
import type { ListenerClass } from '../../api/listeners/index.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { pinnedNodesOf, targetOf } from '../cluster/volumes.ts';

/** Recheck interval in milliseconds when the API server has a node that the cache does not: the watch is about to report it. */
const NODE_RECHECK = 5_000;

/** Keys are names of PersistentVolumes. */
export function createNodeLossReconciler(options: {
  readonly client: KubeClient;
  readonly caches: ClusterCaches;
  readonly events: EventRecorder;
}): Reconcile {
  const { client, caches, events } = options;
  return async (key, signal) => {
    const volume = caches.volumes.get(key);
    const claim = volume?.spec?.claimRef;
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined || claim?.name === undefined) return undefined;
    const pinned = pinnedNodesOf(volume);
    if (pinned.length === 0 || pinned.some((name) => caches.nodes.get(name) !== undefined)) return undefined;
    if (classOf(volume, caches)?.spec.nodeLossPolicy !== 'Release') return undefined;
    // A cache is not enough to delete a claim: the API server itself must confirm that every one of these nodes is gone.
    for (const name of pinned) if ((await client.find(nodes, { name }, { signal })) !== undefined) return { requeueAfter: NODE_RECHECK };
    const { namespace = '', name, uid } = claim;
    const found = await client.find(persistentVolumeClaims, { namespace, name }, { signal });
    if (uid === undefined || found?.metadata.uid !== uid) return undefined;
    await client.delete(persistentVolumeClaims, { namespace, name }, { signal, uid });
    const lost = `Node ${pinned.join(', ')} was deleted, so its address is released (nodeLossPolicy: Release).`;
    events.record({
      regarding: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      type: 'Normal',
      reason: 'AddressReleased',
      action: 'Release',
      note: `${lost} The pod gets a new claim, on another node.`,
    });
    return undefined;
  };
}

function classOf(volume: PersistentVolume, caches: ClusterCaches): ListenerClass | undefined {
  const target = targetOf(volume);
  if (target === undefined) return undefined;
  const listener = caches.listeners.get(`${target.namespace}/${target.name}`);
  // An unreadable class releases nothing, and neither does a Listener with an unreadable class.
  if (listener?.unreadable !== undefined) return undefined;
  const className = listener?.spec.className ?? (target.kind === 'class' ? target.className : undefined);
  return caches.classes.get(className ?? '');
}
