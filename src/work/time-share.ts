/** A part of the time for what may be asked for more often than there is time for it. Milliseconds of any one clock, and of work. */
export class TimeShare {
  readonly #part: number;
  readonly #burst: number;
  #owed = 0;
  #since = Number.NEGATIVE_INFINITY;

  /**
   * @param part of the time, up to 1
   * @param burst what may be spent at once beyond it
   */
  constructor(part: number, burst: number) {
    this.#part = part;
    this.#burst = burst;
  }

  /** Milliseconds until there is time again for what has been spent. */
  wait(clock: number): number {
    this.#settle(clock);
    return Math.max(0, this.#owed - this.#burst) / this.#part;
  }

  spend(milliseconds: number, clock: number): void {
    this.#settle(clock);
    this.#owed += milliseconds;
  }

  #settle(clock: number): void {
    this.#owed = Math.max(0, this.#owed - Math.max(0, clock - this.#since) * this.#part);
    this.#since = clock;
  }
}
