import { Memory } from '../../../../src/memory/memory.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';

export const memoryOf = (bytes: number): Memory =>
  new Memory({ bytes, peers: 1_000 }, createLogger({ level: 'silent', component: 'test' }));

/** Memory that no test uses up. */
export const roomy = (): Memory => memoryOf(1 << 30);
