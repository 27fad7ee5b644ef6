/**
 * Memory for bytes on their way from one end to another. A buffer of the heap for each read would be garbage a moment later, and at
 * some hundred megabytes a second the collector runs without pause. So a few large buffers go round: they are lent, filled one after
 * the other, and come back when the other end holds nothing any more.
 */
import { Buffer } from 'node:buffer';
import { LANDING_BYTES } from './landing.ts';

/** Up to here a slice of Node.js's own small pool does. */
const SMALL = 2048;
/** With all of them lent (to connections whose readers are slow) memory is taken from the heap, just as much as is needed. */
const MOST_BUFFERS = 64;
/** Milliseconds between looks at what was lent to connections that read nothing more. */
const LOOK_AGAIN = 50;

const free: Buffer[] = [];
let made = 0;

/** What one direction of a connection has borrowed. */
export class LentChunks {
  readonly #isPassedOn: () => boolean;
  #buffers: Buffer[] = [];
  /** Of the last of them. */
  #used = 0;

  /** `isPassedOn` tells whether nobody holds any chunk any more. */
  constructor(isPassedOn: () => boolean) {
    this.#isPassedOn = isPassedOn;
  }

  /** Copies a chunk that is valid for a moment only. The copy may be kept until `isPassedOn`. */
  copy(chunk: Buffer): Buffer {
    const { length } = chunk;
    if (length <= SMALL || length > LANDING_BYTES) return Buffer.from(chunk);
    this.settle();
    let buffer = this.#buffers.at(-1);
    if (buffer === undefined || this.#used + length > buffer.length) {
      buffer = take();
      if (buffer === undefined) return ownCopy(chunk);
      if (this.#buffers.length === 0) watch(this);
      this.#buffers.push(buffer);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += length;
    chunk.copy(buffer, from);
    return buffer.subarray(from, this.#used);
  }

  /** @returns whether nothing is lent to it any more */
  settle(): boolean {
    if (this.#buffers.length === 0) return true;
    if (!this.#isPassedOn()) return false;
    free.push(...this.#buffers);
    this.#buffers = [];
    return true;
  }

  /** The connection is over, and who holds its chunks cannot be known: they are left to the collector. */
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
  return Buffer.allocUnsafeSlow(LANDING_BYTES);
}

/** Not of the pool, a slab of which it would keep whole. */
function ownCopy(chunk: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(chunk.length);
  chunk.copy(own);
  return own;
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
