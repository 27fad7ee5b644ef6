/**
 * A queue that serves its owners round-robin, and each owner's items in order. However many items one owner has, others wait for one of
 * them.
 */
export class FairQueue<T> {
  /** Items by owner, the next owner first. No set is empty. */
  readonly #waiting = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(owner: string, item: T): void {
    const theirs = this.#waiting.get(owner);
    if (theirs === undefined) this.#waiting.set(owner, new Set([item]));
    else theirs.add(item);
    this.#size += 1;
  }

  /** No-op if absent. */
  delete(owner: string, item: T): void {
    const theirs = this.#waiting.get(owner);
    if (theirs?.delete(item) !== true) return;
    this.#size -= 1;
    if (theirs.size === 0) this.#waiting.delete(owner);
  }

  /** Whether the owner has items. */
  has(owner: string): boolean {
    return this.#waiting.has(owner);
  }

  /** Removes the next item. */
  take(): T | undefined {
    for (const [owner, theirs] of this.#waiting) {
      for (const item of theirs) {
        this.#waiting.delete(owner);
        theirs.delete(item);
        if (theirs.size > 0) this.#waiting.set(owner, theirs);
        this.#size -= 1;
        return item;
      }
    }
    return undefined;
  }
}
