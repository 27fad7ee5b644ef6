/** Amount of a resource that each owner holds. */
export class Amounts {
  readonly #held = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Number of owners that hold something. */
  get owners(): number {
    return this.#held.size;
  }

  /** Amount of the owner that holds most. */
  get largest(): number {
    return this.#held.values().reduce((largest, held) => Math.max(largest, held), 0);
  }

  of(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** @param amount below zero to hold less */
  change(owner: string, amount: number): void {
    if (amount === 0) return;
    const held = this.of(owner) + amount;
    this.#total += amount;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  /** Amount that each owner has to release until all together hold no more than `target`. The largest owners come down to one level. */
  excess(target: number): ReadonlyMap<string, number> {
    const byHeld = [...this.#held].sort(([, one], [, other]) => other - one);
    let left = this.#total - target;
    const excess = new Map<string, number>();
    for (let count = 1; left > 0 && count <= byHeld.length; count += 1) {
      // The first `count` come down to the level of the next.
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
