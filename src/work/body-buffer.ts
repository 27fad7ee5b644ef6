/** Of one body. */
export interface BodyLimits {
  readonly bytes: number;
  readonly pieces: number;
}

const FIRST = 4_096;

/**
 * What a stranger sends, put together as it comes. Each piece is an object of some hundred bytes, whatever is in it, and takes microseconds:
 * of pieces of one byte each, a few hundred kilobytes of a body would take a hundred megabytes. So none is kept, and they are counted, too.
 */
export class BodyBuffer {
  readonly #limits: BodyLimits;
  #bytes: Buffer;
  #length = 0;
  #pieces = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#bytes = Buffer.alloc(Math.min(FIRST, limits.bytes));
  }

  get whole(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** @returns what there is too much of; that is not taken */
  add(piece: Uint8Array): keyof BodyLimits | undefined {
    const { bytes, pieces } = this.#limits;
    const length = this.#length + piece.length;
    if (length > bytes) return 'bytes';
    this.#pieces += 1;
    if (this.#pieces > pieces) return 'pieces';
    if (length > this.#bytes.length) this.#bytes = Buffer.concat([this.whole], Math.min(Math.max(2 * this.#bytes.length, length), bytes));
    this.#bytes.set(piece, this.#length);
    this.#length = length;
    return undefined;
  }
}
