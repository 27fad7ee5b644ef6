/** Limits of one body. */
export interface BodyLimits {
  readonly bytes: number;
  readonly pieces: number;
}

const FIRST = 4_096;

/**
 * Assembles the body of an untrusted peer. Each piece is an object of some hundred bytes, so a body of a few hundred kilobytes in
 * one-byte pieces would take a hundred megabytes. Therefore pieces are copied and counted.
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

  /** @returns the limit that the piece exceeds; it is not added then */
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
