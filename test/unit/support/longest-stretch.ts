import { setImmediate } from 'node:timers/promises';

/** Runs that are tried: a collection of garbage or a busy machine disturbs one of them, and a slow rule all of them. */
const ATTEMPTS = 4;

/** The least of several measurements, as soon as it is below the bound. */
export async function leastOf(bound: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && least >= bound; attempt += 1) least = Math.min(least, await measure());
  return least;
}

/** CPU time of this thread in milliseconds. Other work on the machine does not count. */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds of CPU time of the longest stretch of work between two iterations of the event loop. */
export async function longestStretch(work: () => Promise<unknown>): Promise<number> {
  const state = { isDone: false };
  const running = work().finally(() => (state.isDone = true));
  let longest = 0;
  for (let last = cpuTime(); !state.isDone;) {
    await setImmediate();
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await running;
  return longest;
}
