/** Milliseconds of any one clock, and of work. */
export interface Spending {
  /** Until there is time again for what has been spent. */
  wait(clock: number): number;
  spend(milliseconds: number, clock: number): void;
}

/** A part of the time for what may be asked for more often than there is time for it. */
export class TimeShare implements Spending {
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

  wait(clock: number): number {
    this.#settle(clock);
    return Math.max(0, this.#owed - this.#burst) / this.#part;
  }

  spend(milliseconds: number, clock: number): void {
    this.#settle(clock);
    this.#owed += milliseconds;
  }

  /** All that was spent has been made up for. */
  isWhole(clock: number): boolean {
    this.#settle(clock);
    return this.#owed === 0;
  }

  #settle(clock: number): void {
    this.#owed = Math.max(0, this.#owed - Math.max(0, clock - this.#since) * this.#part);
    this.#since = clock;
  }
}

/** As many names are kept that have spent nothing lately. */
const MOST_IDLE = 1_024;

/** The same part for each of many, by name. Whoever goes and comes back finds what he has spent. */
export class TimeShares {
  readonly #part: number;
  readonly #burst: number;
  readonly #shares = new Map<string, TimeShare>();

  /** As of a `TimeShare`. */
  constructor(part: number, burst: number) {
    this.#part = part;
    this.#burst = burst;
  }

  of(name: string): Spending {
    return {
      wait: (clock) => this.#shares.get(name)?.wait(clock) ?? 0,
      spend: (milliseconds, clock) => this.#of(name, clock).spend(milliseconds, clock),
    };
  }

  #of(name: string, clock: number): TimeShare {
    const known = this.#shares.get(name);
    if (known !== undefined) return known;
    if (this.#shares.size >= MOST_IDLE) for (const [other, share] of this.#shares) if (share.isWhole(clock)) this.#shares.delete(other);
    const made = new TimeShare(this.#part, this.#burst);
    this.#shares.set(name, made);
    return made;
  }
}
