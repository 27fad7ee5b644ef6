import { setTimeout } from 'node:timers/promises';
import type { Target } from './target.ts';

/** Watches what a target's cases take of memory and time. */
export class Watch {
  cases = 0;
  /** Milliseconds. */
  slowest = 0;
  /** Kilobytes of the heap, and of buffers outside of it, beyond what was held after the first tenth. */
  grown = 0;
  readonly #target: Target;
  readonly #all: number;
  readonly #collect: () => void;
  #before: number | undefined;
  #since = processorTime();

  /** @param collect runs the garbage collector: without it, what is garbage counts as held */
  constructor(target: Target, all: number, collect: () => void) {
    this.#target = target;
    this.#all = all;
    this.#collect = collect;
  }

  /** @throws Error where the step took too long */
  step(cases: number): void {
    const took = processorTime() - this.#since;
    this.cases += cases;
    this.slowest = Math.max(this.slowest, took);
    if (took > this.#target.slowest)
      throw new Error(
        `the step before case ${this.cases} took ${Math.round(took)} ms of processor time, and may take ${this.#target.slowest}`,
      );
    if (this.#before === undefined && this.cases >= this.#all / 10) this.#before = this.#held();
    this.#since = processorTime();
  }

  /** @throws Error where more is held than may be */
  async end(): Promise<void> {
    // Handlers that end connections may hold them for a moment.
    this.#collect();
    await setTimeout(LINGER);
    this.grown = Math.max(0, this.#held() - (this.#before ?? 0));
    if (this.grown > this.#target.heapKilobytes)
      throw new Error(`${this.grown} KB more are held than after the first tenth, and ${this.#target.heapKilobytes} may be`);
  }

  #held(): number {
    this.#collect();
    const { heapUsed, external } = process.memoryUsage();
    return Math.round((heapUsed + external) / 1_024);
  }
}

const LINGER = 1_500;

/** Milliseconds that this process has worked: what others do on the machine is not its fault. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
