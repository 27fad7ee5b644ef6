/** Gives equal texts one small number, and counts their uses. A full table gives 0, which is the empty text. */
export class StringTable {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [''];
  readonly #uses: Uint32Array;
  readonly #free: number[] = [];

  /** @param most number of texts, at most 65,535 */
  constructor(most: number) {
    this.#uses = new Uint32Array(most + 1);
  }

  /** Counts one use of the text. */
  take(text: string): number {
    if (text === '') return 0;
    const known = this.#numbers.get(text) ?? this.#add(text);
    if (known !== 0) this.#uses[known] = (this.#uses[known] ?? 0) + 1;
    return known;
  }

  /** Ends one use. A text without uses makes room for another. */
  release(number: number): void {
    if (number === 0) return;
    const uses = (this.#uses[number] ?? 1) - 1;
    this.#uses[number] = uses;
    if (uses > 0) return;
    this.#numbers.delete(this.get(number));
    this.#texts[number] = '';
    this.#free.push(number);
  }

  get(number: number): string {
    return this.#texts[number] ?? '';
  }

  #add(text: string): number {
    const number = this.#free.pop() ?? this.#texts.length;
    if (number >= this.#uses.length) return 0;
    this.#texts[number] = text;
    this.#numbers.set(text, number);
    return number;
  }
}
