import type { Buffer } from 'node:buffer';
import { RoutingError } from './errors.ts';

/**
 * Reads a peer's bytes from the front. Whatever is asked for beyond the end is a `RoutingError` that names what was being
 * read.
 */
export class ByteCursor {
  /** All of them, also those beyond the end. */
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

  /** An unsigned integer, big-endian, of 1 to 6 bytes. */
  number(size: 1 | 2 | 4 | 6): number {
    const at = this.skip(size);
    return this.bytes.readUIntBE(at, size);
  }

  /** Not a copy. */
  take(size: number): Buffer {
    const at = this.skip(size);
    return this.bytes.subarray(at, at + size);
  }

  /** @returns where they begin that it goes past */
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
