/** Delays in milliseconds. */
export interface Backoff {
  /** Delay before the first retry. */
  readonly first: number;
  readonly max: number;
}

/**
 * Delay in milliseconds after the `failures`-th consecutive failure (1 is the first): doubles from `first` to `max`. `random` is
 * in [0, 1) and subtracts up to half, so that simultaneous failures are not retried together.
 */
export function backoffDelay({ first, max }: Backoff, failures: number, random: number): number {
  // Beyond 2^30 the product would only approach infinity.
  return Math.min(max, first * 2 ** Math.min(Math.max(failures, 1) - 1, 30)) * (1 - random / 2);
}
