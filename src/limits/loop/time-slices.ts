import { performance } from 'node:perf_hooks';
import type { Sliced } from '../sliced.ts';
import type { RoundRobin } from './round-robin.ts';

/** Length of one slice in milliseconds. */
const SLICE = 5;

/** Divides long work into slices, one in an event-loop iteration. Work that shares a `RoundRobin` gets its slices round-robin. */
export class TimeSlices {
  readonly #roundRobin: RoundRobin;
  readonly #owner: string;
  #since = Number.NEGATIVE_INFINITY;

  constructor(roundRobin: RoundRobin, owner: string) {
    this.#roundRobin = roundRobin;
    this.#owner = owner;
  }

  /** Resolves at once while the slice lasts. Call it between pieces of work that are far shorter than a slice. */
  async next(): Promise<void> {
    if (performance.now() - this.#since >= SLICE) await this.rest();
  }

  /** Runs all steps, in as many slices as they need. */
  async run<T>(steps: Sliced<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await this.next();
    }
  }

  /** Resolves in another event-loop iteration, with a new slice. */
  async rest(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#roundRobin.add(this.#owner, resolve);
    await promise;
    this.#since = performance.now();
  }
}
