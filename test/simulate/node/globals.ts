/** Stands for the globals of Node.js in the router. */
import { random, surroundings, wallClock } from '../current.ts';
import type { Due } from '../loop.ts';

export { performance } from './perf_hooks.ts';

type Handler = (...given: readonly unknown[]) => void;

class Timer {
  readonly #run: () => void;
  readonly #again: number | undefined;
  readonly #delay: number;
  #due: Due | undefined;

  constructor(run: () => void, delay: number, repeats: boolean) {
    this.#run = run;
    this.#again = repeats ? delay : undefined;
    this.#delay = delay;
    this.#arm(delay);
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** From now on as long again. */
  refresh(): this {
    this.cancel();
    this.#arm(this.#delay);
    return this;
  }

  cancel(): void {
    if (this.#due !== undefined) surroundings().loop.cancel(this.#due);
  }

  #arm(delay: number): void {
    const { loop } = surroundings();
    this.#due = loop.after(
      delay,
      loop.owner,
      () => {
        if (this.#again !== undefined) this.#arm(this.#again);
        this.#run();
      },
      'timer',
    );
  }
}

/** As Node.js does, it takes what is no time for a millisecond. */
const milliseconds = (delay: number | undefined): number => (delay !== undefined && delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1);

export function setTimeout(handler: Handler, delay?: number, ...given: readonly unknown[]): Timer {
  return new Timer(() => handler(...given), milliseconds(delay), false);
}

export function setInterval(handler: Handler, delay?: number, ...given: readonly unknown[]): Timer {
  return new Timer(() => handler(...given), milliseconds(delay), true);
}

export function clearTimeout(timer: Timer | undefined): void {
  timer?.cancel();
}
export const clearInterval = clearTimeout;

export function setImmediate(handler: Handler, ...given: readonly unknown[]): Due {
  const { loop } = surroundings();
  return loop.soon(loop.owner, () => handler(...given));
}

export function clearImmediate(due: Due | undefined): void {
  if (due !== undefined) surroundings().loop.cancel(due);
}

const RealDate = globalThis.Date;

export class Date extends RealDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [wallClock()] : given) as [number]));
  }

  static override now(): number {
    return wallClock();
  }
}

export const Math: typeof globalThis.Math = Object.create(globalThis.Math, { random: { value: () => random().unit() } });

export const AbortSignal: typeof globalThis.AbortSignal = Object.create(globalThis.AbortSignal, {
  timeout: {
    value: (delay: number): globalThis.AbortSignal => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delay);
      return controller.signal;
    },
  },
});
