import type { Clock } from '../contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { RateLimiter } from '../../limits/rate-limiter.ts';
import { networkOf } from '../../x509/network.ts';
import { limitTable } from '../../limits/table.ts';

/** Number of wrong codes without a pause, for typing errors and a token pasted twice. */
const FREE_GUESSES = limitTable.wrongCodes.value;
const WAIT: Backoff = limitTable.wrongCodePause.value;
/** Milliseconds without a wrong code after which the count of an address restarts. */
const FORGET_AFTER = 3_600_000;
const MAX_ADDRESSES = limitTable.guessers.value;
/** Rate limit of wrong codes from all addresses together, for codes that a person chose. */
const SHARED = limitTable.wrongCodesOfAll.value;

/**
 * Slows down guessing of codes. The pause of each address doubles with each wrong code. All addresses share a rate limit for codes that a
 * person chose. While it is exhausted, valid redemptions of such codes wait too, and succeed later. Generated codes have 160 bits and
 * cannot be guessed, so wrong codes of others never delay clients that have one.
 */
export class Throttle {
  readonly #clock: Clock;
  /** Sorted by the time of the last wrong code, oldest first. */
  readonly #guessers = new Map<string, Guesser>();
  readonly #shared = new RateLimiter(SHARED);

  /** @param clock returns monotonic milliseconds */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns milliseconds until this address may try; 0 if it may try now.
   * @param code origin of the code to check
   */
  waitFor(address: string, code: CodeOrigin): number {
    const now = this.#clock();
    this.#shared.refill(now);
    const shared = code === 'ours' ? 0 : this.#shared.timeUntil(1);
    return Math.max(shared, (this.#guessers.get(networkOf(address))?.until ?? now) - now, 0);
  }

  /** Counts a wrong code. */
  guessed(address: string, code: CodeOrigin): void {
    const now = this.#clock();
    if (code === "person's") this.#shared.charge(Math.min(1, this.#shared.refill(now)));
    const network = networkOf(address);
    const before = this.#guessers.get(network);
    const count = (before === undefined || now - before.last > FORGET_AFTER ? 0 : before.count) + 1;
    const wait = count <= FREE_GUESSES ? 0 : backoffDelay(WAIT, count - FREE_GUESSES, 0);
    this.#guessers.delete(network);
    this.#guessers.set(network, { count, last: now, until: now + wait });
    if (this.#guessers.size > MAX_ADDRESSES) for (const first of this.#guessers.keys()) return void this.#guessers.delete(first);
  }
}

export type CodeOrigin = 'ours' | "person's";

interface Guesser {
  readonly count: number;
  readonly last: number;
  readonly until: number;
}
