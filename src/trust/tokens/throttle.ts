import type { Clock } from '../contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { RateLimiter } from '../../limits/rate-limiter.ts';
import { networkOf } from '../../x509/network.ts';
import { limitTable } from '../../limits/table.ts';

/** Slips of the pen and a token pasted twice. */
const FREE_GUESSES = limitTable.wrongCodes.value;
const WAIT: Backoff = limitTable.wrongCodePause.value;
/** An address that has not guessed for so long starts anew. */
const FORGET_AFTER = 3_600_000;
const MAX_ADDRESSES = limitTable.guessers.value;
/** Wrong guesses of all addresses together at codes that a person made. */
const SHARED = limitTable.wrongCodesOfAll.value;

/**
 * Slows down who guesses codes. Each address waits twice as long after each wrong guess as before. All addresses together have
 * a supply of wrong guesses at codes that a person made up, which refills slowly: while it is empty, honest redeemers of such codes wait
 * too, and come in when it is their turn. One of ours has 160 bits: no number of guesses finds it, so strangers hold up nobody who has it.
 */
export class Throttle {
  readonly #clock: Clock;
  /** Who has not guessed for longest comes first. */
  readonly #guessers = new Map<string, Guesser>();
  readonly #shared = new RateLimiter(SHARED);

  /** @param clock milliseconds, monotonic */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Milliseconds until this address may try (again); 0 for now.
   * @param code who made the one that is to be tried
   */
  waitFor(address: string, code: CodeOrigin): number {
    const now = this.#clock();
    this.#shared.refill(now);
    const shared = code === 'ours' ? 0 : this.#shared.timeUntil(1);
    return Math.max(shared, (this.#guessers.get(networkOf(address))?.until ?? now) - now, 0);
  }

  /** A try that may have been a guess. */
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
