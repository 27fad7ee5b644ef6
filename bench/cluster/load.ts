import { createClient } from '../../src/kube/client/client.ts';
import { loadConfig } from '../../src/kube/client/config.ts';
import type { KubeClient } from '../../src/kube/contract.ts';
import type { Cluster } from '../../test/harness/index.ts';

/** Place of the load. */
export interface Ground {
  readonly cluster: Cluster;
  /** An administrator's, by Earshot's own client library: the load comes from it, the baseline's and ours alike. */
  readonly client: KubeClient;
  readonly log: (line: string) => void;
}

/** How many requests the load has under way at once. */
export const AT_ONCE = 32;

/** The user agent differs from all that are counted. */
export async function adminClient(cluster: Cluster): Promise<KubeClient> {
  const config = await loadConfig({ kubeconfig: cluster.kubeconfig });
  return createClient({ config, userAgent: 'bench', fieldManager: 'bench', connections: AT_ONCE, requestTimeout: 60_000 });
}

/** Does something for each item, at most AT_ONCE at a time, in their order. The first failure ends it. */
export async function forEach<T>(items: Iterable<T>, act: (item: T) => Promise<unknown>): Promise<void> {
  // The workers share one iterator, so each item is taken once.
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await act(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** `NAME-from` to `NAME-(to - 1)`. */
export function names(name: string, from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) => `${name}-${from + index}`);
}

export function secondsSince(start: number): number {
  return (performance.now() - start) / 1_000;
}

/** How long a wait for so many objects may take before it is given up, in milliseconds: ten times what was ever seen. */
export function patience(objects: number): number {
  return 60_000 + 150 * objects;
}
