/**
 * Buffers unread bytes in one copy, however many chunks they came in. As separate chunks, single bytes would cost a hundred times their
 * size.
 */
export class Backlog {
  #buffer: Buffer = EMPTY;
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  /** Valid until another method is called. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#from, this.#to);
  }

  add(chunk: Buffer): void {
    if (this.#to + chunk.length > this.#buffer.length) this.#makeRoom(chunk.length);
    chunk.copy(this.#buffer, this.#to);
    this.#to += chunk.length;
  }

  /** Discards the first bytes. */
  drop(bytes: number): void {
    this.#from += bytes;
    if (this.#from === this.#to) this.clear();
  }

  clear(): void {
    this.#buffer = EMPTY;
    this.#from = 0;
    this.#to = 0;
  }

  #makeRoom(more: number): void {
    const waiting = this.bytes;
    // Moved in place if half of the buffer is free, so that each byte is copied about twice in any case.
    const buffer =
      waiting.length + more <= this.#buffer.length / 2
        ? this.#buffer
        : Buffer.allocUnsafeSlow(Math.max(LEAST, 2 * (waiting.length + more)));
    waiting.copy(buffer);
    this.#buffer = buffer;
    this.#from = 0;
    this.#to = waiting.length;
  }
}

const EMPTY = Buffer.alloc(0);
const LEAST = 1_024;
