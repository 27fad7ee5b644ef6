import { Memory } from '../../../../src/router/memory/memory.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';

/** Memory that nobody in a test uses up. */
export const roomy = (): Memory => new Memory({ bytes: 1 << 30, peers: 1_000 }, createLogger({ level: 'silent', component: 'test' }));
