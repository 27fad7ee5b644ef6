import { RateLimiter, type Rate } from '../../work/rate-limiter.ts';

/** A token bucket for each of many things, by name. Those that have used nothing lately cost nothing. */
export class Pace {
  readonly #rate: Rate;
  readonly #most: number;
  readonly #credits = new Map<string, RateLimiter>();

  /** @param most things that are remembered: beyond that, those that came first are forgotten */
  constructor(rate: Rate, most = Infinity) {
    this.#rate = rate;
    this.#most = most;
  }

  left(name: string, clock: number): number {
    return this.#credits.get(name)?.left(clock) ?? this.#rate.burst;
  }

  take(name: string, clock: number): boolean {
    let credit = this.#credits.get(name);
    if (credit === undefined) {
      credit = new RateLimiter(this.#rate);
      // Its time begins now, at a full burst.
      credit.left(clock);
      this.#credits.set(name, credit);
      const [first] = this.#credits.keys();
      if (this.#credits.size > this.#most && first !== undefined) this.#credits.delete(first);
    }
    return credit.take(clock);
  }

  /** To be called now and then: forgets those that are at rest. */
  tick(clock: number): void {
    for (const [name, credit] of this.#credits) if (credit.left(clock) >= this.#rate.burst) this.#credits.delete(name);
  }
}
