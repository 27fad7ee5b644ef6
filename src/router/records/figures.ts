import { performance } from 'node:perf_hooks';
import { coarseClock } from './coarse-clock.ts';

/**
 * Figures of a connection: numbers side by side in a page of many connections, since a number of its own takes 24 bytes. Times are those of
 * `performance.now()`.
 */
export interface Figures {
  readonly page: Float64Array;
  /** Index of the first one. */
  readonly at: number;
}

/** Offsets. Each direction has three: bytes, time of the first, time of the last. */
export const [BEGUN, CONNECTED, TO_SERVER, TO_CLIENT, FIGURES] = [0, 1, 2, 5, 8] as const;
export const [BYTES, FIRST, LAST] = [0, 1, 2] as const;

/** @param at index of the direction's figures */
export function countBytes(page: Float64Array, at: number, bytes: number): void {
  const before = page[at] ?? 0;
  if (before === 0) page[at + FIRST] = performance.now();
  page[at] = before + bytes;
  page[at + LAST] = coarseClock.now;
}
