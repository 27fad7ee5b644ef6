import { LatencySteps } from './latency-steps.ts';

/** Histogram counts as plain numbers, so that an observation costs only a short loop. Bounds are seconds, ascending. */
export class Buckets {
  readonly bounds: readonly number[];
  /** Count for each bound, not cumulative. Values beyond the last bound are only in `count`. */
  readonly counts: number[];
  /** The same in finer steps, for percentiles. */
  readonly steps = new LatencySteps();
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(seconds: number): void {
    this.count += 1;
    this.sum += seconds;
    this.steps.add(seconds * 1_000);
    let index = 0;
    // A loop, because `findIndex` would call a closure for each bound of each request.
    for (const bound of this.bounds) {
      if (seconds <= bound) {
        this.counts[index] = (this.counts[index] ?? 0) + 1;
        return;
      }
      index += 1;
    }
  }
}
