import type { Change } from './change.ts';

/** Numbers of the router that a simulation makes small: what takes half an hour takes half a minute there, and nobody waits for a day. */
export const SCALES: readonly Change[] = [
  { file: 'router/http2/session.ts', from: 'const LINGER = 10_000;', to: 'const LINGER = 1_000;' },
  { file: 'router/http2/limits.ts', from: 'answeredDeadline: 30_000', to: 'answeredDeadline: 10_000' },
  { file: 'router/link/dial/dialer.ts', from: 'const CLOSE_DEADLINE = 60_000;', to: 'const CLOSE_DEADLINE = 3_000;' },
  { file: 'router/link/dial/dialer.ts', from: 'const FAREWELL = 12_000;', to: 'const FAREWELL = 3_000;' },
  { file: 'router/link/accept/access.ts', from: 'const CLOSE_DEADLINE = 60_000;', to: 'const CLOSE_DEADLINE = 3_000;' },
  { file: 'router/link/session/renewal.ts', from: 'const DEADLINE = 30_000;', to: 'const DEADLINE = 3_000;' },
  { file: 'router/routing/limits.ts', from: 'const REFRESH_EVERY = 600_000;', to: 'const REFRESH_EVERY = 6_000;' },
  { file: 'router/routing/limits.ts', from: 'const FORGET_AFTER = 1_800_000;', to: 'const FORGET_AFTER = 18_000;' },
  { file: 'router/routing/limits.ts', from: 'const SWEEP_EVERY = 10_000;', to: 'const SWEEP_EVERY = 1_000;' },
  { file: 'router/routing/limits.ts', from: 'const COMPARE_EVERY = 30_000;', to: 'const COMPARE_EVERY = 12_000;' },
  { file: 'router/routing/limits.ts', from: '{ burst: 8, perSecond: 0.1 }', to: '{ burst: 8, perSecond: 1 }' },
  { file: 'router/routing/limits.ts', from: 'const COMPARE_AT_LAST = 40_000;', to: 'const COMPARE_AT_LAST = 16_000;' },
  // A crowd comes to as much as many thousands do.
  {
    file: 'router/http2/limits.ts',
    from: 'idleFrames: { burst: 10_000, perSecond: 5_000 }',
    to: 'idleFrames: { burst: 50, perSecond: 25 }',
  },
  {
    file: 'router/http2/limits.ts',
    from: 'earlyResets: { burst: 10_000, perSecond: 2_000 }',
    to: 'earlyResets: { burst: 10, perSecond: 2 }',
  },
  { file: 'router/http2/limits.ts', from: 'concurrentStreams: 32_768,', to: 'concurrentStreams: 96,' },
  { file: 'router/http2/closed-streams.ts', from: 'const MOST = 512;', to: 'const MOST = 8;' },
  // Members that lie invent more than that.
  { file: 'router/routing/limits.ts', from: 'routers: 4096,', to: 'routers: 12,' },
  { file: 'router/routing/limits.ts', from: 'routersOfSite: 16,', to: 'routersOfSite: 4,' },
  { file: 'router/routing/limits.ts', from: 'databaseBytes: 64 * 1024 * 1024,', to: 'databaseBytes: 48 * 1024,' },
  // Slow machines have less time than they need for that.
  {
    file: 'router/routing/limits.ts',
    from: 'const messageTime = { part: 0.25, burst: 3 }',
    to: 'const messageTime = { part: 0.05, burst: 2 }',
  },
  { file: 'router/routing/limits.ts', from: 'const pathTime = { part: 0.1, burst: 4 }', to: 'const pathTime = { part: 0.05, burst: 2 }' },
  { file: 'router/routing/limits.ts', from: 'const roomTime = { part: 0.05, burst: 10 }', to: 'const roomTime = { part: 0.05, burst: 2 }' },
];
