import type { Buffer } from 'node:buffer';
import { RoutingError } from './errors.ts';

/** Reads a peer's bytes from the front. Reading beyond the end throws a `RoutingError` that names the object being read. */
export class ByteCursor {
  /** The whole buffer, including bytes after the end of the cursor. */
  readonly bytes: Buffer;
  readonly #end: number;
  readonly #what: string;
  #at: number;

  constructor(bytes: Buffer, what: string, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#what = what;
    this.#at = start;
    this.#end = end;
  }

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  /** Reads an unsigned big-endian integer of 1 to 6 bytes. */
  number(size: 1 | 2 | 4 | 6): number {
    const at = this.skip(size);
    return this.bytes.readUIntBE(at, size);
  }

  /** Returns a view, not a copy. */
  take(size: number): Buffer {
    const at = this.skip(size);
    return this.bytes.subarray(at, at + size);
  }

  /** @returns the offset at which the skipped bytes begin */
  skip(size: number): number {
    const at = this.#at;
    if (size > this.#end - at) {
      throw new RoutingError(
        'routing-message',
        `The ${this.#what} ends at byte ${this.#end}, in the middle of a field that begins at ${at}.`,
      );
    }
    this.#at = at + size;
    return at;
  }
}
