/**
 * Milliseconds to wait after so many failures in a row (1 is the first): doubles from `first` to `most`. `random` is in
 * [0, 1) and takes off up to half, so that what failed together does not come back together.
 */
export function backoff(first: number, most: number, failures: number, random: number): number {
  return Math.min(most, first * 2 ** Math.min(Math.max(failures, 1) - 1, 20)) * (1 - random / 2);
}
