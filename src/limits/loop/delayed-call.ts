import { bounded, type HandlerName } from '../../telemetry/boundary.ts';

export interface DelayedCallOptions {
  /** See `bounded`. */
  readonly name: HandlerName;
  readonly call: () => void;
  /** Milliseconds from a request until the call; at most 0, and the default, is the next event-loop iteration. */
  readonly delay?: () => number;
  /** Minimum milliseconds between two calls. */
  readonly interval?: () => number;
  /** Whether the call happens within the request, unless the interval has not passed. */
  readonly atOnce?: boolean;
  /** Called after an unexpected error of the call. */
  readonly onError?: () => void;
}

/** Calls a function once after a delay, however often that is requested before. Timers do not keep the process alive. */
export class DelayedCall {
  readonly #options: DelayedCallOptions;
  readonly #begin: () => void;
  readonly #endRest: () => void;
  #cancel: (() => void) | undefined;
  /** Timer of the interval since the last call. */
  #rest: NodeJS.Timeout | undefined;
  #isRequested = false;
  #ended = false;

  constructor(options: DelayedCallOptions) {
    this.#options = options;
    const { name, call, interval, onError } = options;
    const begin = (): void => {
      this.#cancel = undefined;
      if (interval !== undefined) this.#rest = setTimeout(this.#endRest, interval()).unref();
      call();
    };
    this.#begin = bounded(name, begin, () => {
      this.#cancel = undefined;
      onError?.();
    });
    const endRest = (): void => {
      this.#rest = undefined;
      if (!this.#isRequested) return;
      this.#isRequested = false;
      this.#begin();
    };
    this.#endRest = bounded(name, endRest, endRest);
  }

  request(): void {
    const { delay, atOnce = false } = this.#options;
    if (this.#rest !== undefined) this.#isRequested = true;
    else if (this.#cancel === undefined && !this.#ended) {
      if (atOnce) this.#begin();
      else this.requestIn(delay?.() ?? 0);
    }
  }

  /** Requests a call with another delay. */
  requestIn(milliseconds: number): void {
    if (this.#ended || this.#cancel !== undefined) return;
    if (milliseconds <= 0) {
      const next = setImmediate(this.#begin);
      this.#cancel = () => clearImmediate(next);
    } else {
      const later = setTimeout(this.#begin, milliseconds).unref();
      this.#cancel = () => clearTimeout(later);
    }
  }

  /** Cancels a requested call, and prevents further ones. */
  end(): void {
    this.#ended = true;
    this.#cancel?.();
    clearTimeout(this.#rest);
  }
}
