import assert from 'node:assert/strict';

/** Asserts that what was caught has these fields; patterns match strings. */
export function assertError(caught: unknown, fields: Readonly<Record<string, unknown>>): void {
  assert.throws(() => {
    throw caught;
  }, fields);
}
