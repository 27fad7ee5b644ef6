/**
 * Memory for bytes on their way from a socket to another end. A buffer of the heap for each read would be garbage a moment
 * later, and at some hundred megabytes a second the collector runs without pause; measured, that was a third of all the work.
 * So a few large buffers go round: one is lent for each large read, and comes back when the other end holds nothing any more.
 */

/** Where sockets read, one at a time: its bytes are copied on before the next read. What libuv offers by itself is as large. */
export const landing = Buffer.allocUnsafeSlow(64 * 1024);

/** Up to here a slice of Node.js's own small pool does. */
const SMALL = 2048;
/** With all of them lent (to connections whose readers are slow) memory is taken from the heap, just as much as is needed. */
const MOST_BUFFERS = 64;
/** Milliseconds between looks at what was lent to connections that read nothing more. */
const LOOK_AGAIN = 50;

const free: Buffer[] = [];
let made = 0;

/** What one socket has borrowed. */
export class LentChunks {
  readonly #isPassedOn: () => boolean;
  #buffers: Buffer[] = [];

  /** `isPassedOn` tells whether nobody holds any chunk any more. */
  constructor(isPassedOn: () => boolean) {
    this.#isPassedOn = isPassedOn;
  }

  /** Copies what has landed. The copy may be kept until `isPassedOn`. */
  copyLanded(length: number): Buffer {
    if (length <= SMALL) {
      const chunk = Buffer.allocUnsafe(length);
      landing.copy(chunk, 0, 0, length);
      return chunk;
    }
    this.settle();
    const buffer = take();
    if (buffer === undefined) {
      const chunk = Buffer.allocUnsafeSlow(length);
      landing.copy(chunk, 0, 0, length);
      return chunk;
    }
    if (this.#buffers.length === 0) watch(this);
    this.#buffers.push(buffer);
    landing.copy(buffer, 0, 0, length);
    return buffer.subarray(0, length);
  }

  /** @returns whether nothing is lent to it any more */
  settle(): boolean {
    if (this.#buffers.length === 0) return true;
    if (!this.#isPassedOn()) return false;
    free.push(...this.#buffers);
    this.#buffers = [];
    return true;
  }

  /** The socket is gone, and who holds its chunks cannot be known: they are left to the collector. */
  forget(): void {
    if (this.settle()) return;
    made -= this.#buffers.length;
    this.#buffers = [];
  }
}

function take(): Buffer | undefined {
  const known = free.pop();
  if (known !== undefined || made >= MOST_BUFFERS) return known;
  made += 1;
  return Buffer.allocUnsafeSlow(landing.length);
}

const borrowers = new Set<LentChunks>();
let timer: NodeJS.Timeout | undefined;

function watch(borrower: LentChunks): void {
  borrowers.add(borrower);
  timer ??= setTimeout(look, LOOK_AGAIN).unref();
}

function look(): void {
  for (const borrower of borrowers) if (borrower.settle()) borrowers.delete(borrower);
  timer = borrowers.size === 0 ? undefined : setTimeout(look, LOOK_AGAIN).unref();
}
