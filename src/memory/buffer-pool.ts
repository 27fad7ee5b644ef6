/**
 * A pool of large buffers for bytes in transit. A new heap buffer for each read would be garbage a moment later. At some hundred
 * megabytes a second, the garbage collector would run without pause. Buffers are lent, filled one after the other, and reclaimed once the
 * other end no longer holds their bytes.
 */
import { bounded } from '../telemetry/boundary.ts';
import { Buffer } from 'node:buffer';
import { SHORT } from './pieces.ts';
import { READ_BUFFER_BYTES } from '../net/shared-read-buffer.ts';

/** Size in bytes. A retained slice keeps its whole buffer alive; Node.js's pool uses 64 KiB, which an idle connection would retain. */
const SMALL_BUFFER = 4_096;
/** Maximum number of pooled buffers. When all are lent to connections with slow readers, exactly the needed memory is allocated. */
const MOST_BUFFERS = 64;
/** Milliseconds between scans for buffers lent to connections that no longer read. */
const LOOK_AGAIN = 50;

const free: Buffer[] = [];
let created = 0;

/**
 * Buffers lent to one direction of a connection. Bytes leave in the order in which they arrived. So a buffer is free once the other end
 * holds fewer bytes than were lent after it, even while that end is always busy.
 */
export class PooledChunks {
  readonly #held: () => number | undefined;
  #lent: Lent[] = [];
  /** Number of bytes copied so far. */
  #total = 0;
  /** Number of bytes used in the last buffer. */
  #used = 0;

  /** @param held returns how many of the bytes the other end still holds; undefined if that is unknown */
  constructor(held: () => number | undefined) {
    this.#held = held;
  }

  /** Copies a chunk that is only valid during the call. The copy stays valid until it is no longer among the `held` bytes. */
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

  /** Reclaims the buffers that the other end no longer holds. @returns whether no buffer is lent any more */
  reclaim(): boolean {
    if (this.#lent.length === 0) return true;
    const passed = this.#total - (this.#held() ?? Infinity);
    while (this.#lent[0] !== undefined && this.#lent[0].end <= passed) {
      free.push(this.#lent[0].buffer);
      this.#lent.shift();
    }
    return this.#lent.length === 0;
  }

  /** Called when the connection has ended and it is unknown who holds its chunks. The lent buffers are left to the garbage collector. */
  forget(): void {
    if (this.reclaim()) return;
    created -= this.#lent.length;
    this.#lent = [];
  }
}

interface Lent {
  readonly buffer: Buffer;
  /** Value of `#total` when the buffer's last byte was copied. */
  end: number;
}

function take(): Buffer | undefined {
  const known = free.pop();
  if (known !== undefined || created >= MOST_BUFFERS) return known;
  created += 1;
  return Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
}

let small = Buffer.alloc(0);
let smallUsed = 0;

/** Copies a chunk that is only valid during the call. The copy stays valid. */
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
