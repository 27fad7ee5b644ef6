/** Stands for `node:perf_hooks` in the router. */
import { isInside, surroundings } from '../current.ts';
import { Machine } from '../network.ts';

/** For code that measures how long its own work takes. */
const SELDOM = 0.03;
/** Milliseconds that it takes on a slow machine. */
const TAKES = [0.1, 60] as const;

export const performance = {
  now(): number {
    if (!isInside()) return 0;
    const { loop, random } = surroundings();
    if (loop.owner instanceof Machine && loop.owner.isSlow && random.chance(SELDOM)) loop.spend(random.scaled(...TAKES));
    return loop.now + loop.spent;
  },
};

/** Nothing is late here. */
export function monitorEventLoopDelay(): object {
  return { enable: () => true, disable: () => true, reset() {}, percentile: () => 0 };
}
