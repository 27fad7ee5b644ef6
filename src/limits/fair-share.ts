import { Amounts } from './amounts.ts';

/** Owners with equal amounts hold together at most this multiple of the free amount: three quarters of what is not set aside. */
const TIMES_FREE = 3;

/** Fraction that is set aside for owners with little, and the fraction that each of them gets: enough for 128 owners. */
const SET_ASIDE = 1 / 16;
const LITTLE = 1 / 2_048;
/** Minimum of the small amount: one connection has a socket at both ends. */
const LEAST = 2;

/**
 * Divides a bounded amount among owners. The first half is first come, first served. Beyond it, each of N owners may hold three times the
 * free amount, divided by N. (Dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998.) Many greedy
 * owners would leave the next one nothing, so a fraction is set aside for small amounts.
 *
 * Invariants while each owner asks before it takes, unless it lends or no other owner may come:
 * - All owners together never hold more than the total.
 * - Beside N owners, 6 / ((N + 1) (N + 2) (N + 3)) of the amount not set aside stays free: a quarter beside one, a tenth beside two.
 * - Each owner has its small amount while there are no more owners than it is set aside for.
 */
export class FairShare {
  /** Amount for all owners together. */
  most: number;
  readonly #held = new Amounts();
  readonly #lends: boolean;

  /**
   * @param lends whether each owner may have an equal part of one half even if others hold it, since amounts are returned soon or can be
   *   reclaimed. Then N owners may hold together N + 2 times the free amount.
   */
  constructor(most: number, lends = false) {
    this.most = most;
    this.#lends = lends;
  }

  get held(): Pick<Amounts, 'total' | 'owners' | 'of'> {
    return this.#held;
  }

  /** @param mayCome whether owners without any amount may still come */
  hasRoom(owner: string, amount: number, mayCome = true): boolean {
    return amount <= this.room(owner, mayCome);
  }

  /** Amount that the owner may take now; negative if it holds too much. */
  room(owner: string, mayCome = true): number {
    const { most } = this;
    const { total } = this.#held;
    const held = this.#held.of(owner);
    const owners = this.#held.owners + (held === 0 ? 1 : 0);
    if (owners === 1 && !mayCome) return most - total;
    // Without new owners less is kept free and nothing is set aside, as if it lends.
    const leavesLess = this.#lends || !mayCome;
    const shared = leavesLess ? most : most * (1 - SET_ASIDE);
    const free = shared - total;
    const times = leavesLess ? owners + 2 : TIMES_FREE;
    const equal = (times * free - owners * held) / (owners + times);
    // Independent of what others hold.
    const own = this.#lends ? most / 2 / (owners + 1) - held : Math.min(Math.max(LEAST, most * LITTLE) - held, most - total);
    return Math.max(shared / 2 - total, equal, own);
  }

  /** @param amount below zero to hold less */
  change(owner: string, amount: number): void {
    this.#held.change(owner, amount);
  }
}
