import { attempt, type HandlerName } from '../../telemetry/boundary.ts';
import { DelayedCall } from './delayed-call.ts';

/**
 * Runs an asynchronous function, never twice at a time. A run begins within its request. Requests during a run cause one more run, however
 * many there are.
 */
export class Coalescer {
  readonly #name: HandlerName;
  readonly #run: () => Promise<void>;
  readonly #later: DelayedCall;
  #running: Promise<void> | undefined;
  #isRequested = false;
  #ended = false;

  /** @param name see `bounded` */
  constructor(name: HandlerName, run: () => Promise<void>) {
    this.#name = name;
    this.#run = run;
    const request = (): void => this.request();
    this.#later = new DelayedCall({ name, call: request, onError: request });
  }

  get ended(): boolean {
    return this.#ended;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  request(): void {
    if (this.#ended) return;
    this.#isRequested = true;
    this.#running ??= this.#runAll();
  }

  /** Schedules a run, unless one is scheduled already. The timer does not keep the process alive. */
  requestIn(milliseconds: number): void {
    this.#later.requestIn(milliseconds);
  }

  /** Resolves when no run is in progress, and none begins at once. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Prevents further runs. Resolves when the current one has ended. */
  end(): Promise<void> {
    this.#ended = true;
    this.#later.end();
    return this.idle();
  }

  async #runAll(): Promise<void> {
    while (this.#isRequested && !this.#ended) {
      this.#isRequested = false;
      await attempt(this.#name, this.#run);
    }
    this.#running = undefined;
  }
}
