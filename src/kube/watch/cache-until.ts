import type { Cache } from '../contract.ts';
import type { KubeObject } from '../objects.ts';

/** Resolves with the result of `look` once it is not undefined. Rejects with the signal's reason or an error of `look`. */
export async function cacheUntil<T extends KubeObject, R>(
  cache: Cache<T>,
  look: (cache: Cache<T>) => R | undefined,
  signal: AbortSignal,
): Promise<R> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<R>();
  const check = (): void => {
    try {
      const found = look(cache);
      if (found !== undefined) resolve(found);
    } catch (error) {
      reject(error);
    }
  };
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const stop = cache.onChange(check);
  check();
  return promise.finally(() => {
    stop();
    signal.removeEventListener('abort', onAbort);
  });
}
