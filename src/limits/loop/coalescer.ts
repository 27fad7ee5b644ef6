import { performance } from 'node:perf_hooks';
import { attempt, bounded } from '../../telemetry/boundary.ts';

/**
 * Runs a function, never twice at a time. Requests during a run cause one more run, however many there are. Without a minimum interval, a
 * run begins within the request.
 */
export class Coalescer {
  readonly #run: () => Promise<void>;
  readonly #minInterval: (() => number) | undefined;
  #running: Promise<void> | undefined;
  #isRequested = false;
  #ended = false;
  #later: NodeJS.Timeout | undefined;
  /** Start of the last run, as returned by `performance.now()`. */
  #last = Number.NEGATIVE_INFINITY;

  /** @param minInterval current minimum time in milliseconds between the starts of two runs */
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

  /** Schedules a run, unless one is scheduled already. The timer does not keep the process alive. */
  requestIn(milliseconds: number): void {
    if (this.#ended) return;
    const begin = (): void => {
      this.#later = undefined;
      this.#begin();
    };
    this.#later ??= setTimeout(bounded('pass/later', begin, begin), milliseconds).unref();
  }

  /** Resolves when no run is in progress, and none begins at once. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Prevents further runs. Resolves when the current one has ended. */
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
