/**
 * Milliseconds that only grow, and never by much at once: what ages by it is not forgotten because the machine's clock was set
 * or the machine slept.
 */
export class AgeingClock {
  #now = 0;
  #reading = 0;

  /** The machine's time at the last call. */
  get now(): number {
    return this.#now;
  }

  get reading(): number {
    return this.#reading;
  }

  advance(now: number): void {
    if (this.#now > 0) this.#reading += Math.min(Math.max(now - this.#now, 0), LONGEST_STEP);
    this.#now = now;
  }
}

/** The clock is advanced about once a second: a longer step than this is not time that passed here. */
const LONGEST_STEP = 60_000;
