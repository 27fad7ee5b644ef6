import { TransportError } from '../errors.ts';

const NEWLINE = 0x0a;

/** Splits a stream of chunks into lines. Buffers at most one incomplete line of at most `limit` bytes. */
export class LineDecoder {
  readonly #limit: number;
  readonly #onLine: (line: string) => void;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(limit: number, onLine: (line: string) => void) {
    this.#limit = limit;
    this.#onLine = onLine;
  }

  /** Number of bytes of the incomplete line. */
  get pending(): number {
    return this.#heldBytes;
  }

  /** Throws errors of `onLine`, and a TransportError for a line beyond the limit. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#check(end - start);
      // A chunk may end within a character, so only whole lines are decoded.
      const line = this.#heldBytes === 0 ? chunk.toString('utf8', start, end) : this.#join(chunk.subarray(start, end));
      start = end + 1;
      if (line !== '') this.#onLine(line);
    }
    if (start === chunk.length) return;
    this.#check(chunk.length - start);
    this.#held.push(start === 0 ? chunk : chunk.subarray(start));
    this.#heldBytes += chunk.length - start;
  }

  #join(last: Buffer): string {
    const line = Buffer.concat([...this.#held, last], this.#heldBytes + last.length).toString('utf8');
    this.#held = [];
    this.#heldBytes = 0;
    return line;
  }

  #check(more: number): void {
    if (this.#heldBytes + more <= this.#limit) return;
    throw new TransportError('kube-too-large', `A watch event is larger than ${this.#limit} bytes.`, { sent: true, answered: true });
  }
}
