/** Router pods of a site, as a console reads them. */
import type { Cache, ListWatch } from '../../kube/contract.ts';
import type { Pod } from '../../kube/objects.ts';
import { pods } from '../../kube/resource.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { pause } from '../../work/pause.ts';
import { isPodReady, ROUTER_PODS } from './cluster-resources/about.ts';

export interface RouterPod {
  readonly name: string;
  readonly isReady: boolean;
  /** Absent until the pod runs. */
  readonly address?: string;
}

/** Milliseconds in which the first list is awaited. */
const FIRST_LIST_WITHIN = 5_000;

/** Returns a function that lists the running router pods by name, from a watch that ends with the signal. */
export function watchRouterPods(client: ListWatch, namespace: string, signal: AbortSignal): () => Promise<readonly RouterPod[]> {
  const cache: Cache<Pod> = startInformer<Pod>(client, pods, {
    namespace,
    labelSelector: ROUTER_PODS,
    signal,
    // The informer tries again, and keeps the pods that it found.
    onProblem: () => undefined,
  });
  cache.synced.catch(() => undefined);
  return async () => {
    if (!cache.isSynced) await Promise.race([cache.synced.catch(() => undefined), pause(FIRST_LIST_WITHIN, signal).catch(() => undefined)]);
    return [...cache.values()]
      .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase === 'Running')
      .map((pod) => {
        const address = pod.status?.podIP;
        return { name: pod.metadata.name ?? '', isReady: isPodReady(pod), ...(address === undefined ? {} : { address }) };
      })
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  };
}
