/** Monotonic milliseconds that never jump. Nothing expires early because the machine's clock was set or the machine slept. */
export class AgeingClock {
  #now = 0;
  #reading = 0;

  /** The machine's time at the last call of `advance`. */
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

/** The clock advances about once a second. A longer step means that the clock was set or the machine slept. */
const LONGEST_STEP = 60_000;
