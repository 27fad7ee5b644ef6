/** Router pods of a site, as commands and the console read them. */
import type { Cache, ListWatch } from '../../kube/contract.ts';
import type { Pod } from '../../kube/objects.ts';
import { pods } from '../../kube/resource.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { messageOf } from '../../telemetry/log.ts';
import { pause } from '../../work/pause.ts';
import { isPodReady, ROUTER_PODS } from './cluster-resources/about.ts';

export interface RouterPod {
  readonly name: string;
  readonly isReady: boolean;
  /** Absent until the pod runs. */
  readonly address?: string;
}

export interface WatchedRouterPods {
  /** The running pods, by name; empty before the first list. */
  list(): Promise<readonly RouterPod[]>;
  /** Reason why no list has arrived; undefined after the first one. */
  problem(): string | undefined;
}

/** Milliseconds in which the first list is awaited. */
const FIRST_LIST_WITHIN = 5_000;

/** Watches the router pods until the signal is aborted. */
export function watchRouterPods(client: ListWatch, namespace: string, signal: AbortSignal): WatchedRouterPods {
  let last: unknown;
  const cache: Cache<Pod> = startInformer<Pod>(client, pods, {
    namespace,
    labelSelector: ROUTER_PODS,
    signal,
    // The informer tries again, and keeps the pods that it found.
    onProblem: ({ error }) => void (last = error),
  });
  cache.synced.catch(() => undefined);
  return {
    async list() {
      if (!cache.isSynced)
        await Promise.race([cache.synced.catch(() => undefined), pause(FIRST_LIST_WITHIN, signal).catch(() => undefined)]);
      return [...cache.values()]
        .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase === 'Running')
        .map((pod) => {
          const address = pod.status?.podIP;
          return { name: pod.metadata.name ?? '', isReady: isPodReady(pod), ...(address === undefined ? {} : { address }) };
        })
        .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    },
    problem() {
      if (cache.isSynced) return undefined;
      return last === undefined ? `the API server did not list them within ${FIRST_LIST_WITHIN / 1_000} s` : messageOf(last);
    },
  };
}
