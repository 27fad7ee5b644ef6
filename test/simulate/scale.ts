import type { Change } from './change.ts';

/** Durations of the router that a simulation shortens: half an hour becomes half a minute, and no test waits for a day. */
export const SCALES: readonly Change[] = [
  { file: 'http2/session.ts', from: 'const LINGER = 10_000;', to: 'const LINGER = 1_000;' },
  { file: 'http2/limits.ts', from: 'answeredDeadline: 30_000', to: 'answeredDeadline: 10_000' },
  { file: 'router/link/dial/dialer.ts', from: 'const CLOSE_DEADLINE = 60_000;', to: 'const CLOSE_DEADLINE = 3_000;' },
  { file: 'router/link/dial/dialer.ts', from: 'const FAREWELL = 12_000;', to: 'const FAREWELL = 3_000;' },
  { file: 'router/link/accept/access.ts', from: 'const CLOSE_DEADLINE = 60_000;', to: 'const CLOSE_DEADLINE = 3_000;' },
  { file: 'router/link/session/renewal.ts', from: 'const DEADLINE = 30_000;', to: 'const DEADLINE = 3_000;' },
  { file: 'routing/limits.ts', from: 'const REFRESH_EVERY = 600_000;', to: 'const REFRESH_EVERY = 6_000;' },
  { file: 'routing/limits.ts', from: 'const FORGET_AFTER = 1_800_000;', to: 'const FORGET_AFTER = 18_000;' },
  { file: 'routing/limits.ts', from: 'const SWEEP_EVERY = 10_000;', to: 'const SWEEP_EVERY = 1_000;' },
  { file: 'routing/limits.ts', from: 'limitTable.comparison.value', to: '12_000' },
  { file: 'routing/limits.ts', from: 'limitTable.returnsOfRouter.value', to: '{ burst: 8, perSecond: 1 }' },
  { file: 'routing/limits.ts', from: 'const COMPARE_AT_LAST = 40_000;', to: 'const COMPARE_AT_LAST = 16_000;' },
  // A crowd comes to as much as many thousands do.
  { file: 'http2/limits.ts', from: 'limitTable.idleFrames.value', to: '{ burst: 50, perSecond: 25 }' },
  { file: 'http2/limits.ts', from: 'limitTable.earlyResets.value', to: '{ burst: 10, perSecond: 2 }' },
  { file: 'http2/limits.ts', from: 'limitTable.concurrentStreams.value', to: '96' },
  { file: 'http2/closed-streams.ts', from: 'const MOST = 512;', to: 'const MOST = 8;' },
  // Members that lie invent more than that.
  { file: 'routing/limits.ts', from: 'limitTable.routers.value', to: '12' },
  { file: 'routing/limits.ts', from: 'limitTable.routersOfSite.value', to: '4' },
  { file: 'routing/limits.ts', from: 'limitTable.routingRecordBytes.value', to: '48 * 1024' },
  // Slow machines have less time than they need for that.
  { file: 'routing/limits.ts', from: 'limitTable.messageTime.value', to: '{ part: 0.05, burst: 2 }' },
  { file: 'routing/limits.ts', from: 'limitTable.pathTime.value', to: '{ part: 0.05, burst: 2 }' },
  { file: 'routing/limits.ts', from: 'limitTable.evictionTime.value', to: '{ part: 0.05, burst: 2 }' },
];
