/** So much at once, and then so much a second. The clock is in milliseconds. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** A token bucket (as in RFC 2697, one rate) for one thing. */
export class Credit {
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
}

/** The same for many things by name. Those that have used nothing lately cost nothing. */
export class Pace {
  readonly #rate: Rate;
  readonly #credits = new Map<string, Credit>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  left(name: string, clock: number): number {
    return this.#credits.get(name)?.left(clock) ?? this.#rate.burst;
  }

  take(name: string, clock: number): boolean {
    let credit = this.#credits.get(name);
    if (credit === undefined) {
      credit = new Credit(this.#rate);
      // Its time begins now, at a full burst.
      credit.left(clock);
      this.#credits.set(name, credit);
    }
    return credit.take(clock);
  }

  /** To be called now and then: forgets those that are at rest. */
  tick(clock: number): void {
    for (const [name, credit] of this.#credits) if (credit.left(clock) >= this.#rate.burst) this.#credits.delete(name);
  }
}
