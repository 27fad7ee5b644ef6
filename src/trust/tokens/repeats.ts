import type { Clock } from '../contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { limitTable } from '../../limits/table.ts';

/** An answer may be lost on its way more than once. */
const FREE = limitTable.repeatedAnswers.value;
const WAIT: Backoff = limitTable.repeatedAnswerPause.value;
/** Milliseconds for which a redemption is remembered beyond its last wait: as long as certificates last, as a rule. */
const KEPT = 30 * 86_400_000;
const SWEEP = 3_600_000;

/**
 * How often one redemption is answered. It counts once, however often it is asked for, but each answer is a certificate of its own: a
 * signature, a line on record, and one more to revoke. After the first few each waits twice as long as the one before.
 *
 * Bound: it knows redemptions that have been counted, and of these each grant has as many as it allows.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly count: number; readonly until: number }>();
  #nextSweep = 0;

  /** @param clock milliseconds, monotonic */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns milliseconds until it may be answered; 0: now, and that is counted */
  wait(redemption: string): number {
    const now = this.#clock();
    this.#forget(now);
    const { count, until } = this.#known.get(redemption) ?? { count: 0, until: now };
    if (until > now) return until - now;
    const pause = count < FREE ? 0 : backoffDelay(WAIT, count - FREE + 1, 0);
    this.#known.set(redemption, { count: count + 1, until: now + pause });
    return 0;
  }

  /** It could not be answered, which is nothing that whoever asked can help. */
  undo(redemption: string): void {
    const known = this.#known.get(redemption);
    if (known !== undefined) this.#known.set(redemption, { count: known.count - 1, until: Math.min(known.until, this.#clock()) });
  }

  #forget(now: number): void {
    if (now < this.#nextSweep) return;
    this.#nextSweep = now + SWEEP;
    for (const [redemption, { until }] of this.#known) if (until + KEPT <= now) this.#known.delete(redemption);
  }
}
