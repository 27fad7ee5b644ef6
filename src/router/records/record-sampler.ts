import { RateLimiter, type Rate } from '../../limits/rate-limiter.ts';

/** Maximum number of keys that are sure to get a record in one second. */
const MOST_KEYS = 200;

/**
 * Chooses which of many connections get a record: as many as the rate permits, and beyond it one for each key and second. Clocks are in
 * milliseconds.
 */
export class RecordSampler {
  readonly #limiter: RateLimiter;
  readonly #keys = new Set<string>();
  #second = 0;
  #skipped = 0;

  constructor(rate: Rate) {
    this.#limiter = new RateLimiter(rate);
  }

  /** @returns number of connections that this one stands for; 0 if it gets no record */
  take(key: string, clock: number): number {
    const second = Math.floor(clock / 1000);
    if (second !== this.#second) this.#keys.clear();
    this.#second = second;
    const isFirst = this.#keys.size < MOST_KEYS && !this.#keys.has(key);
    if (!this.#limiter.take(clock) && !isFirst) {
      this.#skipped += 1;
      return 0;
    }
    if (isFirst) this.#keys.add(key);
    const count = this.#skipped + 1;
    this.#skipped = 0;
    return count;
  }
}
