import { Buffer } from 'node:buffer';

/** Most bytes of one write to a socket. */
export const SLAB_BYTES = 131_072;

/** There are few slabs: one for each session with a write in progress, and at most `KEPT` free ones. */
export function acquireSlab(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES);
}

export function releaseSlab(slab: Buffer): void {
  if (free.length < KEPT) free.push(slab);
}

const KEPT = 4;
const free: Buffer[] = [];
