export interface Backoff {
  /** Milliseconds before the first retry. */
  readonly base: number;
  readonly max: number;
}

/**
 * Milliseconds to wait after the `failures`-th failure in a row (1 is the first): doubles from base to max. `random` is
 * in [0, 1) and takes off up to half, so that what failed together does not come back together.
 */
export function backoffDelay(backoff: Backoff, failures: number, random: number): number {
  // Beyond 2^30 the product would only lose itself in infinity.
  const whole = Math.min(backoff.max, backoff.base * 2 ** Math.min(Math.max(failures, 1) - 1, 30));
  return whole * (1 - random / 2);
}

/** Resolves after the time; rejects with the signal's reason as soon as it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
