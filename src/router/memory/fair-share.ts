import { Amounts } from './amounts.ts';

/** All that have as much as each other, or one that is alone, have together at most so many times what they leave free: three quarters of what is not set aside. */
const TIMES_FREE = 3;

/** Of all, what is set aside for those who have little, and how much that is: a hundred and twenty-eight have it, whatever others have. */
const SET_ASIDE = 1 / 16;
const LITTLE = 1 / 2_048;
/** Also where that is less: a connection with a socket at both its ends. */
const LEAST = 2;

/**
 * How much of something bounded each owner may have. One half is for whoever comes first. Beyond it, what is free decides: of N owners that
 * have something each may have three times what is free, divided by N, and what one of them takes leaves the others less. (Dynamic thresholds:
 * Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998.) Where many are greedy that leaves the next nothing, so of a part of it
 * each has only a little.
 *
 * Invariants, unless it lends, or nobody else may come, as long as each asks before it takes, in whatever order owners came and went: all together never have
 * more than there is; of all that is not set aside, and beside the little that each of N owners may have, 6 / ((N + 1) (N + 2) (N + 3)) is free or more, a quarter
 * beside one, a tenth beside two; and each has its little while there are no more owners than that is set aside for.
 */
export class FairShare {
  /** Of all owners together. */
  most: number;
  readonly #held = new Amounts();
  readonly #lends: boolean;

  /**
   * @param lends whether each owner has an equal part of one half also where others have that: of what is given back soon, or can be taken back.
   * Less has to be kept free then: N owners have together N + 2 times what is free.
   */
  constructor(most: number, lends = false) {
    this.most = most;
    this.#lends = lends;
  }

  get held(): Pick<Amounts, 'total' | 'owners' | 'of'> {
    return this.#held;
  }

  /** @param mayCome whether there may be owners that have nothing yet */
  hasRoom(owner: string, amount: number, mayCome = true): boolean {
    return amount <= this.room(owner, mayCome);
  }

  /** How much more it may have now, `hasRoom`'s way; below zero where it has more than that. */
  room(owner: string, mayCome = true): number {
    const { most } = this;
    const { total } = this.#held;
    const held = this.#held.of(owner);
    const owners = this.#held.owners + (held === 0 ? 1 : 0);
    if (owners === 1 && !mayCome) return most - total;
    // Nothing has to be left to somebody new: less is kept free, and nothing set aside, as where it lends.
    const leavesLess = this.#lends || !mayCome;
    const shared = leavesLess ? most : most * (1 - SET_ASIDE);
    const free = shared - total;
    const times = leavesLess ? owners + 2 : TIMES_FREE;
    const equal = (times * free - owners * held) / (owners + times);
    // Whatever others have.
    const own = this.#lends ? most / 2 / (owners + 1) - held : Math.min(Math.max(LEAST, most * LITTLE) - held, most - total);
    return Math.max(shared / 2 - total, equal, own);
  }

  /** @param amount below zero where less is held than before */
  change(owner: string, amount: number): void {
    this.#held.change(owner, amount);
  }
}
