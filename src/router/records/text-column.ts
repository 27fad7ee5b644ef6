/** Most characters of the ID of a connection. */
export const ID_WIDTH = 32;

/** Short ASCII texts of equal-sized records, without a string for each. Longer ones are cut. */
export class TextColumn {
  readonly #width: number;
  readonly #bytes: Buffer;
  readonly #lengths: Uint8Array;

  /** @param width most bytes of a text, at most 255 */
  constructor(size: number, width: number) {
    this.#width = width;
    this.#bytes = Buffer.alloc(size * width);
    this.#lengths = new Uint8Array(size);
  }

  set(index: number, text: string): void {
    this.#lengths[index] = this.#bytes.write(text, index * this.#width, this.#width, 'latin1');
  }

  get(index: number): string {
    const start = index * this.#width;
    return this.#bytes.toString('latin1', start, start + (this.#lengths[index] ?? 0));
  }
}
