/** Gives equal texts one number. The least recently used text is evicted, and its number then reads as the empty text. */
export class RecentTexts {
  readonly #most: number;
  /** The least recently used first. */
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  #last = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @returns a number of 32 bits; 0 for the empty text */
  numberOf(text: string): number {
    if (text === '') return 0;
    const number = this.#numbers.get(text) ?? this.#next();
    // A slice of a longer text would keep all of that in memory.
    const kept = this.#texts.get(number) ?? Buffer.from(text).toString();
    this.#numbers.delete(kept);
    this.#numbers.set(kept, number);
    this.#texts.set(number, kept);
    if (this.#numbers.size > this.#most) this.#evict();
    return number;
  }

  textOf(number: number): string {
    return this.#texts.get(number) ?? '';
  }

  /** Numbers of evicted texts are not used again, until all 32 bits are. */
  #next(): number {
    do this.#last = (this.#last + 1) >>> 0;
    while (this.#last === 0 || this.#texts.has(this.#last));
    return this.#last;
  }

  #evict(): void {
    for (const [text, number] of this.#numbers) {
      this.#numbers.delete(text);
      this.#texts.delete(number);
      return;
    }
  }
}
