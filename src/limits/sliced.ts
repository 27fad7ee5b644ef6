import { performance } from 'node:perf_hooks';

/** Long work, for example on a whole network. It yields periodically so that other work can run in between. */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** Nodes or edges between two yields: some tenths of a millisecond. */
const STEP = 1_024;

/** Counts work and decides when to yield. */
export class SliceCounter {
  #done = 0;

  /** @param work nodes or edges */
  passed(work = 1): boolean {
    this.#done += work;
    if (this.#done < STEP) return false;
    this.#done = 0;
    return true;
  }
}

/** Runs all remaining steps at once. */
export function runToEnd<T>(steps: Sliced<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs steps for that many milliseconds, at least one step. @returns undefined if work is left */
export function runSlice<T>(steps: Sliced<T>, milliseconds: number): { readonly value: T } | undefined {
  const until = performance.now() + milliseconds;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { value: step.value };
    if (performance.now() >= until) return undefined;
  }
}
