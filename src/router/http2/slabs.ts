import { Buffer } from 'node:buffer';

/** What one write to a socket holds at most. */
export const SLAB_BYTES = 131_072;

/** Slabs are few: one for each session that is writing, and at most `KEPT` that wait for the next. */
export function acquireSlab(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES);
}

export function releaseSlab(slab: Buffer): void {
  if (free.length < KEPT) free.push(slab);
}

const KEPT = 4;
const free: Buffer[] = [];
