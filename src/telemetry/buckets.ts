/** A histogram's counts as plain numbers: to observe costs a short loop. Bounds are seconds, ascending. */
export class Buckets {
  readonly bounds: readonly number[];
  /** One for each bound, not cumulative; beyond the last bound only `count` tells. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(seconds: number): void {
    this.count += 1;
    this.sum += seconds;
    let index = 0;
    // Written out: `findIndex` would call a closure for each bound of each request.
    for (const bound of this.bounds) {
      if (seconds <= bound) {
        this.counts[index] = (this.counts[index] ?? 0) + 1;
        return;
      }
      index += 1;
    }
  }
}
