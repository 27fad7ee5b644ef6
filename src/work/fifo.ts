/**
 * First in, first out, with constant cost per operation. `Array.shift` moves all remaining items of a long array. A short queue that is
 * filled and emptied again and again keeps its array: an emptied one would allocate room for 16 items again.
 */
export class Fifo<T> {
  /** Items before the head are removed, and those from the tail on are not there yet: both are undefined. */
  #items: (T | undefined)[] = [];
  #head = 0;
  #tail = 0;

  get size(): number {
    return this.#tail - this.#head;
  }

  /** Undefined if empty. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items[this.#tail++] = item;
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const { first } = this;
    this.#items[this.#head++] = undefined;
    if (this.size === 0) this.clear();
    else if (this.#head * 2 >= this.#tail) this.#hold(this.#items.slice(this.#head, this.#tail));
    return first;
  }

  /** Removes all other items. */
  keep(isKept: (item: T) => boolean): void {
    this.#hold(this.#items.filter((item) => item !== undefined && isKept(item)));
  }

  clear(): void {
    if (this.#items.length > SHORT || this.size > 0) this.#items = [];
    this.#head = 0;
    this.#tail = 0;
  }

  #hold(items: (T | undefined)[]): void {
    this.#items = items;
    this.#head = 0;
    this.#tail = items.length;
  }
}

/** Number of items of an array that an empty queue keeps. */
const SHORT = 64;
