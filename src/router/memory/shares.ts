/**
 * How much of something bounded each owner may have. One half is for whoever comes first; of the other an equal part is kept for each
 * owner that has something, and for one that may yet come. So one owner alone can have three quarters, whoever stays within such a part
 * always has room, and nobody gets more by being there earlier, or by asking for more.
 */
export class Shares {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  /** @param most of all owners together */
  constructor(most: number) {
    this.#most = most;
  }

  get most(): number {
    return this.#most;
  }

  get total(): number {
    return this.#total;
  }

  get owners(): ReadonlyMap<string, number> {
    return this.#held;
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /**
   * @param mayCome whether there may be owners that have nothing yet
   * @param most of all owners together, where that changes
   */
  hasRoom(owner: string, amount: number, mayCome = true, most = this.#most): boolean {
    // Most of the time it ends here.
    return amount <= most / 2 - this.#total || amount <= this.room(owner, mayCome, most);
  }

  /** How much more it may have now, `hasRoom`'s way. */
  room(owner: string, mayCome = true, most = this.#most): number {
    const left = most - this.#total;
    const others = this.#held.size - (this.#held.has(owner) ? 1 : 0);
    if (others === 0 && !mayCome) return left;
    const part = most / 2 / (1 + others + (mayCome ? 1 : 0));
    let kept = mayCome ? part : 0;
    for (const [other, held] of this.#held) if (other !== owner) kept += Math.max(0, part - held);
    return Math.max(most / 2 - this.#total, part - this.heldBy(owner), left - kept);
  }

  /** @param amount below zero where less is held than before */
  change(owner: string, amount: number): void {
    if (amount === 0) return;
    const held = this.heldBy(owner) + amount;
    this.#total += amount;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  /** What each owner has to let go of so that all together have no more than this: who has least keeps all of it, and nobody is brought below another that has to let go. */
  excess(target: number): ReadonlyMap<string, number> {
    const byHeld = [...this.#held].sort(([, one], [, other]) => other - one);
    let left = this.#total - target;
    const excess = new Map<string, number>();
    for (let count = 1; left > 0 && count <= byHeld.length; count += 1) {
      // The first so many come down to the level of the next.
      const level = byHeld[count]?.[1] ?? 0;
      const top = byHeld.slice(0, count);
      const above = top.reduce((sum, [owner, held]) => sum + held - (excess.get(owner) ?? 0) - level, 0);
      const share = Math.min(above, left) / count;
      for (const [owner] of top) excess.set(owner, (excess.get(owner) ?? 0) + share);
      left -= Math.min(above, left);
    }
    return excess;
  }
}
