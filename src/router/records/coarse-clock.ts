import { performance } from 'node:perf_hooks';
import { bounded } from '../../telemetry/boundary.ts';

/** Milliseconds between two readings. */
const STEP = 500;

/** Milliseconds as of `performance.now()`, up to 500 ms old: the data path cannot ask for the time with each chunk. */
export const coarseClock = { now: performance.now() };

let users = 0;
let timer: NodeJS.Timeout | undefined;

/** Keeps the clock going until the returned object is disposed. */
export function runCoarseClock(): Disposable {
  users += 1;
  const read = (): void => void (coarseClock.now = performance.now());
  read();
  timer ??= setInterval(bounded('look/coarse-clock', read), STEP).unref();
  return {
    [Symbol.dispose]() {
      users -= 1;
      if (users > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}
