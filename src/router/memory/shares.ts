import { Amounts } from './amounts.ts';

/** All that have as much as each other, or one that is alone, have together at most so many times what they leave free: three quarters of all. */
const TIMES_FREE = 3;

/**
 * How much of something bounded each owner may have. One half is for whoever comes first. Beyond it, what is free decides: of N owners that
 * have something each may have three times what is free, divided by N, and what one of them takes leaves the others less. (Dynamic thresholds:
 * Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998.)
 *
 * Invariant, unless it lends, or nobody else may come: as long as each asks before it takes, all together never have more than there is, and while N of them have
 * something, in whatever order they came and went, 6 / ((N + 1) (N + 2) (N + 3)) of it is free or more: a quarter beside one, a tenth beside two.
 */
export class Shares {
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
    const held = this.#held.of(owner);
    const free = most - this.#held.total;
    const owners = this.#held.owners + (held === 0 ? 1 : 0);
    if (owners === 1 && !mayCome) return free;
    // Nothing has to be left to somebody new: less is kept free, as where it lends.
    const times = this.#lends || !mayCome ? owners + 2 : TIMES_FREE;
    const equal = (times * free - owners * held) / (owners + times);
    const lent = this.#lends ? most / 2 / (owners + 1) - held : -Infinity;
    return Math.max(most / 2 - this.#held.total, equal, lent);
  }

  /** @param amount below zero where less is held than before */
  change(owner: string, amount: number): void {
    this.#held.change(owner, amount);
  }
}
