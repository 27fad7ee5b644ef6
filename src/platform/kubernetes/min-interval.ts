import { performance } from 'node:perf_hooks';
import { bounded } from '../../telemetry/boundary.ts';

/** Runs soon after it is asked to, and never twice within so many milliseconds: what comes in between is one run. */
export class MinInterval implements Disposable {
  readonly #run: () => void;
  readonly #every: () => number;
  #last = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: () => void, every: () => number) {
    this.#run = run;
    this.#every = every;
  }

  request(): void {
    const wait = Math.max(0, this.#last + this.#every() - performance.now());
    const run = (): void => {
      this.#timer = undefined;
      this.#last = performance.now();
      this.#run();
    };
    this.#timer ??= setTimeout(bounded('look/paced', run), wait);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
