import { setTimeout as sleep } from 'node:timers/promises';
import { HarnessError } from './failures.ts';

export interface WaitOptions {
  /** Milliseconds until the wait fails; a minute by default, since the machine may be busy. */
  readonly timeoutMs?: number;
  /** The most milliseconds between two polls, the first of them shorter; 100 by default. */
  readonly everyMs?: number;
}

/**
 * Looks again and again until `look` gives something other than undefined, false or an exception, and returns that.
 * Fails with what the last look saw, so that the message says how far things came.
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, undefined | false>> {
  const { timeoutMs = 60_000, everyMs = 100 } = options;
  const deadline = performance.now() + timeoutMs;
  const finished = new AbortController();
  const late = sleep(timeoutMs, LATE, { signal: finished.signal }).catch(() => LATE);
  let last: unknown;
  try {
    for (let pause = 1; ; pause = Math.min(everyMs, pause * 2)) {
      try {
        const seen = await Promise.race([look(), late]);
        // The casts say what the comparisons prove: TypeScript does not narrow a bare type parameter.
        if (seen === LATE) last ??= new Error('the last look did not come back');
        else if (seen !== undefined && seen !== false) return seen as Exclude<T, undefined | false>;
        else last = undefined;
      } catch (error) {
        last = error;
      }
      if (performance.now() + pause > deadline) {
        const saw = last instanceof Error ? `; last: ${last.message}` : '';
        throw new HarnessError('TIMED_OUT', `waited ${timeoutMs / 1000} s for ${what}${saw}`, last instanceof Error ? { cause: last } : {});
      }
      await sleep(pause);
    }
  } finally {
    finished.abort();
  }
}

const LATE = Symbol('late');
