/**
 * Notices that a running pod ends while another pod of its claim waits for its mount on the same node. The kubelet runs one
 * operation at a time on a volume, so the waiting mount must yield to the unmount. Only starting pods are watched. A running one
 * is read every second, only while another pod waits (docs/adr/0020-waiting-mounts.md).
 */
import type { PodListeners } from '../../api/listeners/index.ts';
import { entryOf, isEnding } from '../../api/listeners/mount-status.ts';
import type { EventRecorder, KubeClient } from '../../kube/contract.ts';
import { keyOf } from '../../kube/key.ts';
import { pods } from '../../kube/resource.ts';
import type { Reconcile } from '../../work/reconcile.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { MountAnswers } from './mount-answers.ts';
import { endOf, ownerOf } from './mount-plan.ts';

export interface EndingPodsOptions {
  readonly client: KubeClient;
  readonly caches: Pick<ClusterCaches, 'podListeners' | 'startingPods'>;
  readonly events: EventRecorder;
}

/** Interval between two reads of a running pod in milliseconds. */
const POLL = 1_000;

/** Keys are those of PodListeners. */
export function createEndingPodsReconciler({ client, caches, events }: EndingPodsOptions): Reconcile {
  const { podListeners, startingPods } = caches;
  const answers = new MountAnswers(client, events, podListeners);
  return async (key, signal) => {
    const request = podListeners.get(key);
    if (request === undefined) return undefined;
    let isAwaited = false;
    const requestsOf = (handle: string): readonly PodListeners[] => podListeners.by('handle', handle);
    const isStarting = (of: PodListeners): boolean => startingPods.by('request', keyOf(of)).length > 0;
    for (const [handle, running] of findAwaited(request, { requestsOf, isStarting })) {
      for (const other of running) {
        const { namespace = '' } = other.metadata;
        const pod = await client.find(pods, { namespace, name: ownerOf(other)?.name ?? '-' }, { signal });
        const end = endOf(pod, other);
        if (end === undefined) isAwaited = true;
        else await answers.writeWaiting(other, new Map([[handle, end]]), signal);
      }
    }
    return isAwaited ? { requeueAfter: POLL } : undefined;
  };
}

/**
 * By volume handle that a request waits for: requests of running pods whose end must be noticed. If several wait for one volume
 * on one node, only the first by key polls.
 */
export function findAwaited(
  request: PodListeners,
  around: { readonly requestsOf: (handle: string) => readonly PodListeners[]; readonly isStarting: (request: PodListeners) => boolean },
): ReadonlyMap<string, readonly PodListeners[]> {
  const awaited = new Map<string, readonly PodListeners[]>();
  for (const handle of Object.keys(request.spec.mounts ?? {})) {
    const onNode = around.requestsOf(handle).filter(({ spec }) => spec.nodeName === request.spec.nodeName);
    const waiting = onNode.filter((each) => around.isStarting(each) && waitsFor(each, handle)).map(keyOf);
    if (waiting.toSorted()[0] !== keyOf(request)) continue;
    awaited.set(
      handle,
      onNode.filter((other) => !around.isStarting(other) && !isEnding(other, handle)),
    );
  }
  return awaited;
}

function waitsFor(request: PodListeners, handle: string): boolean {
  return (entryOf(request, handle)?.ingressAddresses ?? []).length === 0 && !isEnding(request, handle);
}
