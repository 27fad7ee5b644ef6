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

/** Milliseconds of CPU time that `exercise` takes on an idle machine. The bounds of tests are meant for that one. */
const USUAL = 2.2;

/** Allocates, hashes, sorts and formats, as rules do. */
function exercise(): void {
  const named = new Map<string, object>();
  for (let index = 0; index < 4_000; index += 1) {
    const name = `name-${(index * 7_919) % 4_000}`;
    named.set(name, { name, labels: { app: `app-${index % 100}`, component: name } });
  }
  JSON.stringify([...named].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

// Compiled code only: the first runs take three times as long.
for (let run = 0; run < 20; run += 1) exercise();

/**
 * How many times longer work takes now than on an idle machine, at least 1. Other programs share the caches of a core, so that the CPU time
 * of the same work doubles on a busy machine.
 */
export function slowness(): number {
  const took = [1, 2, 3].map(() => {
    const began = cpuTime();
    exercise();
    return cpuTime() - began;
  });
  return Math.max(1, Math.min(...took) / USUAL);
}

/** Shorter ones, in milliseconds, are not worth a measurement of slowness. */
const SHORT = 10;

/**
 * Milliseconds of CPU time of the longest stretch of work between two iterations of the event loop, as they would be on an idle machine.
 */
export async function longestStretch(work: () => Promise<unknown>): Promise<number> {
  const state = { isDone: false };
  const running = work().finally(() => (state.isDone = true));
  let longest = 0;
  for (let last = cpuTime(); !state.isDone; last = cpuTime()) {
    await setImmediate();
    const stretch = cpuTime() - last;
    if (stretch > longest) longest = Math.max(longest, stretch < SHORT ? stretch : stretch / slowness());
  }
  await running;
  return longest;
}
