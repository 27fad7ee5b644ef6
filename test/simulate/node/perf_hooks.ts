/** Stands for `node:perf_hooks` in the router. */
import { isInside, surroundings } from '../current.ts';

export const performance = { now: (): number => (isInside() ? surroundings().loop.now : 0) };

/** Nothing is late here. */
export function monitorEventLoopDelay(): object {
  return { enable: () => true, disable: () => true, reset() {}, percentile: () => 0 };
}
