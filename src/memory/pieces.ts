import { Buffer } from 'node:buffer';

import { PIECE_COST } from './costs.ts';

/**
 * A queue of bytes that wait for the other end. Each piece costs memory besides its length, and a sender may send single bytes. So short
 * pieces are copied together while others wait, which keeps the total cost close to the number of bytes.
 */
export class Pieces {
  #bytes = 0;
  #list: Buffer[] = EMPTY;
  /** Number of bytes already taken from the first piece. */
  #taken = 0;
  /** Buffer that short pieces are copied into. Its filled part is the last piece of the list. */
  #tail: Buffer = NOTHING;
  #filled = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Approximate memory of the pieces in bytes. */
  get held(): number {
    return this.#bytes + this.#list.length * PIECE_COST;
  }

  /** Appends a chunk, which must not change while it waits. */
  push(chunk: Buffer): void {
    const { length } = chunk;
    if (length === 0) return;
    const list = this.#list;
    this.#bytes += length;
    if (list.length === 0 || length > SHORT) {
      this.#closeTail();
      // A literal has room for one; `push` on an empty array makes room for 16.
      if (list.length === 0) this.#list = [chunk];
      else list.push(chunk);
      return;
    }
    if (this.#filled + length > this.#tail.length) {
      this.#closeTail();
      this.#tail = Buffer.allocUnsafeSlow(TAIL);
      list.push(this.#tail);
    }
    chunk.copy(this.#tail, this.#filled);
    this.#filled += length;
    list[list.length - 1] = this.#tail.subarray(0, this.#filled);
  }

  /** Moves the next `length` of the bytes into `out`. */
  takeInto(out: Buffer, at: number, length: number): void {
    const end = at + length;
    let position = at;
    let whole = 0;
    for (const piece of this.#list) {
      const copied = piece.copy(out, position, this.#taken, this.#taken + end - position);
      position += copied;
      this.#taken += copied;
      if (this.#taken < piece.length) break;
      this.#taken = 0;
      whole++;
      if (position === end) break;
    }
    this.#bytes -= length;
    if (whole === this.#list.length) this.clear();
    else if (whole > 0) this.#list.splice(0, whole);
  }

  /** @returns all pieces; the queue is empty afterwards */
  takeAll(): readonly Buffer[] {
    const all = this.#list;
    if (all[0] !== undefined) all[0] = all[0].subarray(this.#taken);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = 0;
    this.#list = EMPTY;
    this.#taken = 0;
    this.#tail = NOTHING;
    this.#filled = 0;
  }

  /** Cuts a mostly empty tail to its content: otherwise a single byte between two long pieces would retain the whole buffer. */
  #closeTail(): void {
    if (this.#filled > 0 && this.#filled < TAIL / 2) {
      const own = Buffer.allocUnsafeSlow(this.#filled);
      this.#tail.copy(own);
      this.#list[this.#list.length - 1] = own;
    }
    this.#tail = NOTHING;
    this.#filled = 0;
  }
}

const NOTHING = Buffer.alloc(0);
/** List of each empty queue. It stays empty: `push` replaces it. */
const EMPTY: Buffer[] = [];
/** Maximum size of a short piece in bytes. */
export const SHORT = 1_024;
const TAIL = 2_048;
