/** First in, first out, with constant cost per operation. `Array.shift` moves all remaining items of a long array. */
export class Fifo<T> {
  /** Items before the head are already removed. */
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** Undefined if empty. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const { first } = this;
    this.#items[this.#head++] = undefined;
    if (this.#head * 2 < this.#items.length) return first;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
    return first;
  }

  /** Removes all other items. */
  keep(isKept: (item: T) => boolean): void {
    this.#items = this.#items.filter((item) => item !== undefined && isKept(item));
    this.#head = 0;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
