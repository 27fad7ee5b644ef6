import assert from 'node:assert/strict';
import type { ErrorCode } from '../../../../src/errors/catalogue.ts';
import { TrustError } from '../../../../src/trust/errors.ts';
import { EarshotError } from '../../../../src/errors/earshot-error.ts';

/** Checks that an error is one of ours, of that code, and that its message speaks of what it should. */
export const refusal =
  (code: ErrorCode, ...speaksOf: readonly RegExp[]) =>
  (error: unknown): true => {
    assert.ok(error instanceof EarshotError, `not one of ours: ${String(error)}`);
    assert.equal(error.code, code, error.message);
    // Others put it into a sentence.
    if (error instanceof TrustError) assert.doesNotMatch(error.message, /\.$/);
    for (const words of speaksOf) assert.match(error.message, words);
    return true;
  };
