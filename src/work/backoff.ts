/** In milliseconds. */
export interface Backoff {
  /** Before the first retry. */
  readonly first: number;
  readonly max: number;
}

/**
 * Milliseconds to wait after the `failures`-th failure in a row (1 is the first): doubles from `first` to `max`. `random`
 * is in [0, 1) and takes off up to half, so that what failed together does not come back together.
 */
export function backoffDelay({ first, max }: Backoff, failures: number, random: number): number {
  // Beyond 2^30 the product would only lose itself in infinity.
  return Math.min(max, first * 2 ** Math.min(Math.max(failures, 1) - 1, 30)) * (1 - random / 2);
}
