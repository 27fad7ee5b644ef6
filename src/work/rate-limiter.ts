/** So much at once, and then so much a second. The clock is in milliseconds. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** A token bucket (as in RFC 2697, one rate) for one thing. */
export class RateLimiter {
  readonly #rate: Rate;
  #left: number;
  #since = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.burst;
  }

  /** How many may be taken now. */
  left(clock: number): number {
    this.#left = Math.min(this.#rate.burst, this.#left + (Math.max(0, clock - this.#since) / 1000) * this.#rate.perSecond);
    this.#since = clock;
    return Math.floor(this.#left);
  }

  /** @returns false where none is left */
  take(clock: number): boolean {
    if (this.left(clock) < 1) return false;
    this.#left -= 1;
    return true;
  }

  /** Takes one that may not be there yet. @returns milliseconds to wait for it */
  wait(clock: number): number {
    this.left(clock);
    this.#left -= 1;
    return this.#left >= 0 ? 0 : (-this.#left / this.#rate.perSecond) * 1000;
  }
}
