/**
 * What waits to be done, of several for whom it is done in order, and for one after the other of them: however much waits for one, what
 * waits for another comes after one piece of it at most.
 */
export class FairQueue<T> {
  /** Whose turn it is comes first; none is empty. */
  readonly #waiting = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(whose: string, item: T): void {
    const theirs = this.#waiting.get(whose);
    if (theirs === undefined) this.#waiting.set(whose, new Set([item]));
    else theirs.add(item);
    this.#size += 1;
  }

  /** Also of one that is not there. */
  delete(whose: string, item: T): void {
    const theirs = this.#waiting.get(whose);
    if (theirs?.delete(item) !== true) return;
    this.#size -= 1;
    if (theirs.size === 0) this.#waiting.delete(whose);
  }

  /** Whether anything waits for that one. */
  has(whose: string): boolean {
    return this.#waiting.has(whose);
  }

  /** The next one, which waits no more. */
  take(): T | undefined {
    for (const [whose, theirs] of this.#waiting) {
      for (const item of theirs) {
        this.#waiting.delete(whose);
        theirs.delete(item);
        if (theirs.size > 0) this.#waiting.set(whose, theirs);
        this.#size -= 1;
        return item;
      }
    }
    return undefined;
  }
}
