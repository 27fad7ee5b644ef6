/**
 * Interval in milliseconds of the timer with which Node.js monitors its event loop. At 20 it caused half of an idle router's
 * work.
 */
export const LOOP_TIMER = 100;

/**
 * Delay of the timer. Node.js measures from one firing to the next (`monitorEventLoopDelay` of `node:perf_hooks`), so an idle
 * loop shows the timer's interval.
 * @param interval nanoseconds from its histogram; 0 if it has no value yet
 * @returns seconds
 */
export function lateness(interval: number): number {
  return Math.max(0, interval - LOOP_TIMER * 1e6) / 1e9;
}
