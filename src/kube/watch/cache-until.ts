import type { Cache } from '../contract.ts';
import type { KubeObject } from '../objects.ts';

/**
 * Resolves with what `look` finds in the cache, as soon as it finds something (anything but undefined); rejects with
 * the signal's reason, or with what `look` throws.
 */
export function cacheUntil<T extends KubeObject, R>(
  cache: Cache<T>,
  look: (cache: Cache<T>) => R | undefined,
  signal: AbortSignal,
): Promise<R> {
  return new Promise((resolve, reject) => {
    let stop: (() => void) | undefined;
    const finish = (): void => {
      stop?.();
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      finish();
      reject(signal.reason);
    };
    const check = (): void => {
      try {
        const found = look(cache);
        if (found === undefined) return;
        finish();
        resolve(found);
      } catch (error) {
        finish();
        reject(error);
      }
    };
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    stop = cache.onChange(check);
    signal.addEventListener('abort', onAbort, { once: true });
    check();
  });
}
