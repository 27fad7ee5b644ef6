import { performance } from 'node:perf_hooks';

/** Work on as much as a whole network, which leaves off now and then, so that others have their turns in between. */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** Nodes or edges between two steps: some tenths of a millisecond. */
const STEP = 1_024;

/** Counts what is done, and says when it is time to leave off. */
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

/** Does what is left of it at once. */
export function runToEnd<T>(steps: Sliced<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Goes on for so many milliseconds, and a step.
 * @returns undefined where it is not done
 */
export function runSlice<T>(steps: Sliced<T>, milliseconds: number): { readonly value: T } | undefined {
  const until = performance.now() + milliseconds;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { value: step.value };
    if (performance.now() >= until) return undefined;
  }
}
