import { RateLimiter, type Rate } from '../../limits/rate-limiter.ts';

/** Maximum number of records in one second beyond the rate, each for another key. */
const MOST_KEYS = 200;
/** Maximum number of keys that are known from the second before. */
const MOST_SEEN = 1_024;

/**
 * Chooses which of many connections get a record: as many as the rate permits, and beyond it one for each key and second. If there are more
 * than `MOST_KEYS` keys, they are recorded round-robin. Half of these records are for keys of the second before, so a client that names ever
 * more keys does not hide those that return. Clocks are in milliseconds.
 */
export class RecordSampler {
  readonly #limiter: RateLimiter;
  /** Keys of this second, and of the one before. */
  #seen = new Set<string>();
  #returning = new Set<string>();
  /** Keys recorded in this round, with the second of their record. */
  readonly #recorded = new Map<string, number>();
  /** Records left for keys that return, and for any key. */
  #left = { returning: 0, any: MOST_KEYS };
  #second = 0;
  #skipped = 0;

  constructor(rate: Rate) {
    this.#limiter = new RateLimiter(rate);
  }

  /** @returns number of connections that this one stands for; 0 if it gets no record */
  take(key: string, clock: number): number {
    const second = Math.floor(clock / 1000);
    if (second !== this.#second) this.#begin(second);
    if (this.#seen.size < MOST_SEEN) this.#seen.add(key);
    if (!this.#limiter.take(clock) && !this.#takeExtra(key)) {
      this.#skipped += 1;
      return 0;
    }
    this.#recorded.set(key, second);
    const count = this.#skipped + 1;
    this.#skipped = 0;
    return count;
  }

  #begin(second: number): void {
    this.#second = second;
    this.#returning = this.#seen;
    this.#seen = new Set();
    const round = Math.max(1, Math.ceil(this.#returning.size / MOST_KEYS));
    for (const [key, at] of this.#recorded) if (second - at >= round) this.#recorded.delete(key);
    const returning = Math.min(MOST_KEYS / 2, this.#returning.size);
    this.#left = { returning, any: MOST_KEYS - returning };
  }

  #takeExtra(key: string): boolean {
    if (this.#recorded.has(key)) return false;
    const kind = this.#returning.has(key) && this.#left.returning > 0 ? 'returning' : 'any';
    if (this.#left[kind] === 0) return false;
    this.#left[kind] -= 1;
    return true;
  }
}
