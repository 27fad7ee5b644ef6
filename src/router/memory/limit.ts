import { totalmem } from 'node:os';
import { limitTable } from '../../limits/table.ts';

/** What a router needs for itself: the program, its own buffers, and what the collector has not collected yet. */
const OWN = limitTable.uncountedMemory.value;
/** Of what is left, the part that is counted: allocators and the collector need the rest. */
const COUNTED_PARTS = limitTable.countedMemory.value;

/**
 * Bytes that this process may use: what the machine has or its control group allows (`memory.max`, `memory.high`), or less where somebody
 * said so.
 */
export function memoryLimit(said = Infinity): number {
  // Without a limit it is 0, or more than there is.
  const constrained = process.constrainedMemory();
  return Math.min(said, totalmem(), constrained > 0 ? constrained : Infinity);
}

/** Of such a limit, what connections and peers may hold together. */
export function budgetWithin(limit: number): number {
  return Math.max(limit - OWN, limit / 4) / COUNTED_PARTS;
}
