import { Credit, type Rate } from '../../work/token-bucket.ts';

/** A token bucket for each of many things, by name. Those that have used nothing lately cost nothing. */
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
