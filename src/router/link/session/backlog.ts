/** Bytes that wait, as one copy however many chunks they came in: chunk by chunk, a peer that sends bytes one by one would cost us a hundredfold. */
export class Backlog {
  #buffer: Buffer = EMPTY;
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  /** Valid until the next call of another method. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#from, this.#to);
  }

  add(chunk: Buffer): void {
    if (this.#to + chunk.length > this.#buffer.length) this.#makeRoom(chunk.length);
    chunk.copy(this.#buffer, this.#to);
    this.#to += chunk.length;
  }

  /** Lets the first bytes go. */
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
    // Moved in place where half of it is free: each byte is then copied about twice, however it goes on.
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
