import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';

/** Resolves with what `look` returns as soon as that is neither undefined nor false; rejects after half a minute. */
export async function until<T>(what: string, look: () => T | undefined | false): Promise<T> {
  const end = Date.now() + 30_000;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`Waited in vain for: ${what}`);
    await setImmediate();
  }
}

/** Asserts that what was caught has these fields; patterns match strings. */
export function assertError(caught: unknown, fields: Readonly<Record<string, unknown>>): void {
  assert.throws(() => {
    throw caught;
  }, fields);
}
