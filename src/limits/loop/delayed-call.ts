import { performance } from 'node:perf_hooks';
import { bounded, type HandlerName } from '../../telemetry/boundary.ts';

export interface DelayedCallOptions {
  /** See `bounded`. */
  readonly name: HandlerName;
  readonly call: () => void;
  /**
   * Milliseconds from a request until the call; at most 0, and the default, is the next event-loop iteration.
   * @param sinceLast milliseconds since the last call; `Infinity` before the first
   */
  readonly delay?: ((sinceLast: number) => number) | undefined;
  /** Whether a call whose delay has passed happens within the request. */
  readonly atOnce?: boolean;
  /** Called after an unexpected error of the call. */
  readonly onError?: () => void;
}

/** Calls a function once after a delay, however often that is requested before. Timers do not keep the process alive. */
export class DelayedCall {
  readonly #options: DelayedCallOptions;
  readonly #scheduled: () => void;
  #cancel: (() => void) | undefined;
  #ended = false;
  /** Time of the last call, as returned by `performance.now()`. */
  #last = Number.NEGATIVE_INFINITY;

  constructor(options: DelayedCallOptions) {
    this.#options = options;
    const { name, call, delay, onError } = options;
    const scheduled = (): void => {
      this.#cancel = undefined;
      if (delay !== undefined) this.#last = performance.now();
      call();
    };
    this.#scheduled = bounded(name, scheduled, () => {
      this.#cancel = undefined;
      onError?.();
    });
  }

  request(): void {
    if (this.#cancel !== undefined) return;
    const { delay, atOnce = false } = this.#options;
    const wait = delay === undefined ? 0 : delay(performance.now() - this.#last);
    if (atOnce && wait <= 0 && !this.#ended) this.#scheduled();
    else this.requestIn(wait);
  }

  /** Requests a call with another delay. */
  requestIn(milliseconds: number): void {
    if (this.#ended || this.#cancel !== undefined) return;
    if (milliseconds <= 0) {
      const next = setImmediate(this.#scheduled);
      this.#cancel = () => clearImmediate(next);
    } else {
      const later = setTimeout(this.#scheduled, milliseconds).unref();
      this.#cancel = () => clearTimeout(later);
    }
  }

  /** Cancels a requested call, and prevents further ones. */
  end(): void {
    this.#ended = true;
    this.#cancel?.();
  }
}
