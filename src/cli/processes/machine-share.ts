import { availableParallelism } from 'node:os';
import { memoryLimit } from '../../memory/limit.ts';
import type { MachineShare } from '../../site/site-routers.ts';

/** @param memory explicit limit in bytes, if any */
export function machineShare(memory?: number): MachineShare {
  return { cores: availableParallelism(), memory: memoryLimit(memory) };
}
