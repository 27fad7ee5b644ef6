import { performance } from 'node:perf_hooks';
import { attempt, bounded } from '../../telemetry/boundary.ts';

/**
 * Runs something one at a time. Requests during a run cause one more, however many there are. Without a minimum interval, a run begins within
 * the request.
 */
export class Coalescer {
  readonly #run: () => Promise<void>;
  readonly #minInterval: (() => number) | undefined;
  #running: Promise<void> | undefined;
  #isRequested = false;
  #ended = false;
  #later: NodeJS.Timeout | undefined;
  /** When the last run began. */
  #last = Number.NEGATIVE_INFINITY;

  /** @param minInterval current number of milliseconds from the begin of one run to that of the next */
  constructor(run: () => Promise<void>, minInterval?: () => number) {
    this.#run = run;
    this.#minInterval = minInterval;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  request(): void {
    if (this.#ended) return;
    if (this.#minInterval !== undefined && this.#running === undefined) {
      this.requestIn(Math.max(0, this.#last + this.#minInterval() - performance.now()));
      return;
    }
    this.#begin();
  }

  /** Requests a run for later, unless one is already. Keeps no process alive. */
  requestIn(milliseconds: number): void {
    if (this.#ended) return;
    const begin = (): void => {
      this.#later = undefined;
      this.#begin();
    };
    this.#later ??= setTimeout(bounded('pass/later', begin, begin), milliseconds).unref();
  }

  /** Resolves when none runs or begins at once. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** No run begins any more. Resolves when the current one has ended. */
  end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#later);
    return this.idle();
  }

  #begin(): void {
    if (this.#ended) return;
    this.#isRequested = true;
    this.#running ??= this.#runAll();
  }

  async #runAll(): Promise<void> {
    while (this.#isRequested && !this.#ended) {
      this.#isRequested = false;
      if (this.#minInterval !== undefined) this.#last = performance.now();
      await attempt('pass/one', this.#run);
      if (this.#minInterval !== undefined) break;
    }
    this.#running = undefined;
    if (this.#isRequested) this.request();
  }
}
