import { startInformer } from '../../src/kube/watch/informer.ts';
import type { Cache } from '../../src/kube/contract.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import type { Resource } from '../../src/kube/resource.ts';
import { HarnessError } from '../../test/harness/index.ts';
import type { Ground } from './load.ts';

export interface Expected<T extends KubeObject> {
  readonly namespace: string;
  /** For the error: `Listeners with an address`. */
  readonly what: string;
  readonly count: number;
  readonly isThere: (object: T) => boolean;
  readonly timeoutMs: number;
}

/** A moment in the future that a watch will see. */
export interface Expectation extends AsyncDisposable {
  /** When the last of them was as expected, by performance.now(). */
  readonly reached: Promise<number>;
  /** When each was first seen so, in that order. */
  readonly seen: readonly Seen[];
}

export interface Seen {
  readonly name: string;
  readonly uid: string;
  /** By performance.now(). */
  readonly at: number;
}

/** Watches from now on for `count` objects of a namespace to be as expected. Returns once the watch stands. */
export async function expect<T extends KubeObject>({ client }: Ground, of: Resource<T>, expected: Expected<T>): Promise<Expectation> {
  const { namespace, what, count, isThere, timeoutMs } = expected;
  const end = new AbortController();
  // Thousands of objects are kept only as expected or not: the watcher shares the machine with what it watches.
  const cache: Cache<KubeObject> = startInformer<T, KubeObject>(client, of, {
    namespace,
    signal: end.signal,
    onProblem: () => undefined,
    project: (object) => {
      if (!isThere(object)) return undefined;
      const { name = '', uid = '' } = object.metadata;
      return { metadata: { namespace, name, uid } };
    },
  });
  await cache.synced;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // If the load fails first, this promise has no waiter left.
  promise.catch(() => undefined);
  const look = (): void => {
    if (cache.size >= count) resolve(performance.now());
  };
  const seen: Seen[] = [];
  cache.onChange(({ type, object: { metadata } }) => {
    if (type === 'added') seen.push({ name: metadata.name ?? '', uid: metadata.uid ?? '', at: performance.now() });
    look();
  });
  look();
  const late = setTimeout(() => {
    reject(new HarnessError('TIMED_OUT', `waited ${timeoutMs / 1_000} s for ${count} ${what} in ${namespace}; there are ${cache.size}`));
  }, timeoutMs);
  return {
    reached: promise,
    seen,
    async [Symbol.asyncDispose]() {
      clearTimeout(late);
      end.abort();
    },
  };
}
