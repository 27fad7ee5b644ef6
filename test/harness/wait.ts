import { setTimeout as sleep } from 'node:timers/promises';
import { HarnessError } from './failures.ts';

export interface WaitOptions {
  /** Milliseconds until the wait fails; 30 s unless told. */
  readonly timeoutMs?: number;
  /** Milliseconds between two looks; 100 unless told. */
  readonly everyMs?: number;
}

/**
 * Looks again and again until `look` gives something other than undefined, false or an exception, and returns that.
 * Fails with what the last look saw, so that the message says how far things came.
 */
export async function eventually<T>(what: string, look: () => T | Promise<T>, options: WaitOptions = {}): Promise<Exclude<T, undefined | false>> {
  const { timeoutMs = 30_000, everyMs = 100 } = options;
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      // The cast says what the comparison proves: TypeScript does not narrow a bare type parameter.
      if (seen !== undefined && seen !== false) return seen as Exclude<T, undefined | false>;
      last = seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      const saw = last instanceof Error ? `; last: ${last.message}` : '';
      throw new HarnessError('TIMED_OUT', `waited ${timeoutMs / 1000} s for ${what}${saw}`, last instanceof Error ? { cause: last } : {});
    }
    await sleep(everyMs);
  }
}
