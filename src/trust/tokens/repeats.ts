import type { Clock } from '../contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { limitTable } from '../../limits/table.ts';

/** Number of repeated answers without a pause. Responses may be lost more than once. */
const FREE = limitTable.repeatedAnswers.value;
const WAIT: Backoff = limitTable.repeatedAnswerPause.value;
/** Milliseconds for which a redemption is remembered after its last pause: the usual lifetime of certificates. */
const KEPT = 30 * 86_400_000;
const SWEEP = 3_600_000;

/**
 * Limits how often one redemption is answered. Repeats do not count as redemptions, but each answer costs a signature, an entry in the
 * ledger and one more certificate to revoke. After the first few, each pause is twice as long as the one before.
 *
 * Bounded, since only counted redemptions have an entry, and each grant limits their number.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly count: number; readonly until: number }>();
  #nextSweep = 0;

  /** @param clock returns monotonic milliseconds */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns milliseconds until the redemption may be answered. If 0, this call counts as an answer */
  wait(redemption: string): number {
    const now = this.#clock();
    this.#forget(now);
    const { count, until } = this.#known.get(redemption) ?? { count: 0, until: now };
    if (until > now) return until - now;
    const pause = count < FREE ? 0 : backoffDelay(WAIT, count - FREE + 1, 0);
    this.#known.set(redemption, { count: count + 1, until: now + pause });
    return 0;
  }

  /** Reverts `wait` after a failure that the client cannot fix. */
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
