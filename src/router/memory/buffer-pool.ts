/**
 * Memory for bytes on their way from one end to another. A buffer of the heap for each read would be garbage a moment later, and at
 * some hundred megabytes a second the collector runs without pause. So a few large buffers go round: they are lent, filled one after
 * the other, and come back when the other end holds nothing any more.
 */
import { bounded } from '../../telemetry/boundary.ts';
import { Buffer } from 'node:buffer';
import { SHORT } from './pieces.ts';
import { READ_BUFFER_BYTES } from '../../net/shared-read-buffer.ts';

/** Whoever keeps a byte keeps all that it is a slice of: Node.js's own pool is cut from 64 KiB, which a connection that stands still would hold. */
const SMALL_BUFFER = 4_096;
/** With all of them lent (to connections whose readers are slow) memory is taken from the heap, just as much as is needed. */
const MOST_BUFFERS = 64;
/** Milliseconds between looks at what was lent to connections that read nothing more. */
const LOOK_AGAIN = 50;

const free: Buffer[] = [];
let made = 0;

/**
 * What one direction of a connection has borrowed. Bytes leave in the order in which they came, so that a buffer is free again when the
 * other end holds fewer bytes than were lent after it: also of an end that is busy all the time.
 */
export class PooledChunks {
  readonly #held: () => number | undefined;
  #lent: Lent[] = [];
  /** All bytes that were copied so far. */
  #total = 0;
  /** Of the last buffer. */
  #used = 0;

  /** `held` tells how many of the bytes the other end still holds; undefined where that cannot be known. */
  constructor(held: () => number | undefined) {
    this.#held = held;
  }

  /** Copies a chunk that is valid for a moment only. The copy may be kept until it is not among those `held` any more. */
  copy(chunk: Buffer): Buffer {
    const { length } = chunk;
    this.reclaim();
    this.#total += length;
    if (length <= SHORT || length > READ_BUFFER_BYTES) return copyOf(chunk);
    let last = this.#lent.at(-1);
    if (last === undefined || this.#used + length > last.buffer.length) {
      const buffer = take();
      if (buffer === undefined) return copyOf(chunk);
      if (last === undefined) watch(this);
      last = { buffer, end: 0 };
      this.#lent.push(last);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += length;
    last.end = this.#total;
    chunk.copy(last.buffer, from);
    return last.buffer.subarray(from, this.#used);
  }

  /** @returns whether nothing is lent to it any more */
  reclaim(): boolean {
    if (this.#lent.length === 0) return true;
    const passed = this.#total - (this.#held() ?? Infinity);
    while (this.#lent[0] !== undefined && this.#lent[0].end <= passed) {
      free.push(this.#lent[0].buffer);
      this.#lent.shift();
    }
    return this.#lent.length === 0;
  }

  /** The connection is over, and who holds its chunks cannot be known: they are left to the collector. */
  forget(): void {
    if (this.reclaim()) return;
    made -= this.#lent.length;
    this.#lent = [];
  }
}

interface Lent {
  readonly buffer: Buffer;
  /** How many bytes had been copied when its last one was. */
  end: number;
}

function take(): Buffer | undefined {
  const known = free.pop();
  if (known !== undefined || made >= MOST_BUFFERS) return known;
  made += 1;
  return Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
}

let small = Buffer.alloc(0);
let smallUsed = 0;

/** Copies a chunk that is valid for a moment only. The copy can be kept for good. */
export function copyOf(chunk: Buffer): Buffer {
  const { length } = chunk;
  if (length > SHORT) {
    const own = Buffer.allocUnsafeSlow(length);
    chunk.copy(own);
    return own;
  }
  if (smallUsed + length > small.length) {
    small = Buffer.allocUnsafeSlow(SMALL_BUFFER);
    smallUsed = 0;
  }
  const from = smallUsed;
  smallUsed += length;
  chunk.copy(small, from);
  return small.subarray(from, smallUsed);
}

const borrowers = new Set<PooledChunks>();
let timer: NodeJS.Timeout | undefined;

function watch(borrower: PooledChunks): void {
  borrowers.add(borrower);
  timer ??= setTimeout(lookAgain, LOOK_AGAIN).unref();
}

const lookAgain = bounded('look/lent-buffers', look, () => {
  timer = undefined;
});

function look(): void {
  for (const borrower of borrowers) if (borrower.reclaim()) borrowers.delete(borrower);
  timer = borrowers.size === 0 ? undefined : setTimeout(lookAgain, LOOK_AGAIN).unref();
}
