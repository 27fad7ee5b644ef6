/** Percentiles of latencies, with a relative error of at most 19 %: steps of 2^(1/4) from 0.1 ms to 60 s. */
const [LEAST, MOST, STEPS_OF_DOUBLE] = [0.1, 60_000, 4];
const LAST = Math.ceil(Math.log2(MOST / LEAST) * STEPS_OF_DOUBLE);

/** Number of latencies by the upper bound of their step, in milliseconds. */
export type LatencyCounts = ReadonlyMap<number, number>;

export interface Percentiles {
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export class LatencySteps {
  /** Undefined while it is empty: there may be thousands. */
  #counts: Uint32Array | undefined;

  add(milliseconds: number): void {
    this.#counts ??= new Uint32Array(LAST + 1);
    const step = milliseconds <= LEAST ? 0 : Math.min(LAST, Math.ceil(Math.log2(milliseconds / LEAST) * STEPS_OF_DOUBLE));
    this.#counts[step] = (this.#counts[step] ?? 0) + 1;
  }

  /** Steps that are not empty. */
  get counts(): LatencyCounts {
    const counts = new Map<number, number>();
    this.#counts?.forEach((count, step) => {
      if (count > 0) counts.set(BOUNDS[step] ?? MOST, count);
    });
    return counts;
  }
}

/** Rounded to 1 %, so that their text is short. */
const BOUNDS: readonly number[] = Array.from({ length: LAST + 1 }, (_, step) =>
  Number(Math.min(MOST, LEAST * 2 ** (step / STEPS_OF_DOUBLE)).toPrecision(3)),
);

export function mergeLatencies(all: Iterable<LatencyCounts>): LatencyCounts {
  const merged = new Map<number, number>();
  for (const counts of all) for (const [bound, count] of counts) merged.set(bound, (merged.get(bound) ?? 0) + count);
  return merged;
}

/** @returns undefined without latencies */
export function percentilesOf(counts: LatencyCounts): Percentiles | undefined {
  const steps = [...counts].filter(([, count]) => count > 0).toSorted(([one], [other]) => one - other);
  const total = steps.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const at = (part: number): number => {
    let below = 0;
    for (const [bound, count] of steps) {
      below += count;
      if (below >= total * part) return bound;
    }
    return MOST;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
