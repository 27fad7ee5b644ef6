import { performance } from 'node:perf_hooks';
import type { Sliced } from './sliced.ts';
import type { RoundRobin } from './round-robin.ts';

/** Milliseconds that one piece of a long work may take before it lets the event loop go on. */
const SLICE = 5;

/** Divides a long work into slices, one in an event-loop iteration. Works that share the same turns take theirs round-robin. */
export class TimeSlices {
  readonly #turns: RoundRobin;
  readonly #whose: string;
  #since = Number.NEGATIVE_INFINITY;

  constructor(turns: RoundRobin, whose: string) {
    this.#turns = turns;
    this.#whose = whose;
  }

  /** Resolves at once while the slice lasts. To be called between two pieces of work, each far shorter than a slice. */
  async next(): Promise<void> {
    if (performance.now() - this.#since >= SLICE) await this.rest();
  }

  /** Does all steps, as many in one slice as there is time for. */
  async run<T>(steps: Sliced<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await this.next();
    }
  }

  /** Resolves in another iteration of the event loop, with a new slice. */
  async rest(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turns.add(this.#whose, resolve);
    await promise;
    this.#since = performance.now();
  }
}
