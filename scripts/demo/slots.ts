/** Redis Cluster spreads keys over this many slots, and slots over masters (Redis Cluster Specification, "Key distribution model"). */
export const SLOTS = 16_384;

/** The slot of a key without a hash tag: CRC16 (XMODEM: polynomial 0x1021, nothing reflected, starts at 0) modulo the number of slots. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : ((crc << 1) ^ 0x1021) & 0xffff;
  }
  return (crc & 0xffff) % SLOTS;
}

/** One key for each slot, in the slots' order. */
export function keyOfEachSlot(): readonly string[] {
  const keys = new Map<number, string>();
  for (let number = 0; keys.size < SLOTS; number += 1) {
    const key = `key-${number}`;
    const slot = slotOf(key);
    if (!keys.has(slot)) keys.set(slot, key);
  }
  return Array.from({ length: SLOTS }, (_, slot) => keys.get(slot) ?? '');
}

/**
 * The same in an order that goes from master to master as it would in real life, but not with every key: each hop costs the
 * client a new connection. Runs of 128 neighbours, taken from all over.
 */
export function hopping(keys: readonly string[]): readonly string[] {
  const run = 128;
  const runs = Array.from({ length: Math.ceil(keys.length / run) }, (_, index) => keys.slice(index * run, (index + 1) * run));
  // 53 and the number of runs have no common divisor, so each run comes once.
  return runs.flatMap((_, index) => runs[(index * 53) % runs.length] ?? []);
}
