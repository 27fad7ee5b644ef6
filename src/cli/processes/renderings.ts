import { RateLimiter } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';

/** A scraper asks every few seconds. Other clients that reach the port may ask at any rate. */
const RATE = limitTable.renderings.value;

/**
 * Coalesces and rate-limits a rendering that costs time and memory. Concurrent requests share one rendering. Requests above the
 * rate get the last one, which is then at most a tenth of a second old.
 */
export class Renderings<T> {
  readonly #render: () => Promise<T>;
  readonly #clock: () => number;
  readonly #credit = new RateLimiter(RATE);
  #running: Promise<T> | undefined;
  #last: T | undefined;

  /** @param clock time in milliseconds, monotonic */
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
