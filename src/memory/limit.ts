import { totalmem } from 'node:os';
import { limitTable } from '../limits/table.ts';

/** Bytes that a router needs for itself: the program, its own buffers, and garbage that is not collected yet. */
const OWN = limitTable.uncountedMemory.value;
/** Divisor of the rest: one part of it is counted, since allocators and the garbage collector need the others. */
const COUNTED_PARTS = limitTable.countedMemory.value;

/**
 * Returns the bytes that this process may use: the least of `said` (an explicit setting), the machine's memory, and its control group's
 * limit (`memory.max`, `memory.high`).
 */
export function memoryLimit(said = Infinity): number {
  // Without a limit, Node.js returns 0 or more than the machine has.
  const constrained = process.constrainedMemory();
  return Math.min(said, totalmem(), constrained > 0 ? constrained : Infinity);
}

/** Returns the part of such a limit that connections and peers may hold together. */
export function budgetWithin(limit: number): number {
  return Math.max(limit - OWN, limit / 4) / COUNTED_PARTS;
}
