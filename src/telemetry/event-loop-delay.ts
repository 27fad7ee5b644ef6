/** Milliseconds between two firings of the timer by which Node.js watches its event loop. At 20 it was half of what an idle router did. */
export const LOOP_TIMER = 100;

/**
 * How late the timer was. Node.js counts from one firing to the next (`monitorEventLoopDelay` of `node:perf_hooks`), so an idle
 * loop shows the timer's period.
 * @param interval nanoseconds, as its histogram has them; 0 where it has none yet
 * @returns seconds
 */
export function lateness(interval: number): number {
  return Math.max(0, interval - LOOP_TIMER * 1e6) / 1e9;
}
