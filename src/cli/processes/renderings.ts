import { RateLimiter } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';

/** A scraper comes every few seconds; whoever else reaches the port may come as often as it likes. */
const RATE = limitTable.renderings.value;

/**
 * A text that takes time to make, for whoever asks, and memory, which all share: one is made at a time, for all who ask meanwhile, and who
 * asks too often gets the last, which is no older than a tenth of a second then.
 */
export class Renderings<T> {
  readonly #render: () => Promise<T>;
  readonly #clock: () => number;
  readonly #credit = new RateLimiter(RATE);
  #running: Promise<T> | undefined;
  #last: T | undefined;

  /** @param clock milliseconds, monotonic */
  constructor(render: () => Promise<T>, clock: () => number = () => performance.now()) {
    this.#render = render;
    this.#clock = clock;
  }

  latest(): Promise<T> {
    if (this.#running !== undefined) return this.#running;
    if (this.#last !== undefined && !this.#credit.take(this.#clock())) return Promise.resolve(this.#last);
    this.#running = this.#renderAgain();
    return this.#running;
  }

  async #renderAgain(): Promise<T> {
    try {
      this.#last = await this.#render();
      return this.#last;
    } finally {
      this.#running = undefined;
    }
  }
}
