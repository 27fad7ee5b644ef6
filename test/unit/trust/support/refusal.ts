import assert from 'node:assert/strict';
import { TrustError } from '../../../../src/trust/errors.ts';
import type { TrustCode } from '../../../../src/trust/contract.ts';

/** Checks that an error is one of ours, of that code, and that its message speaks of what it should. */
export const refusal =
  (code: TrustCode, ...speaksOf: readonly RegExp[]) =>
  (error: unknown): true => {
    assert.ok(error instanceof TrustError, `not one of ours: ${String(error)}`);
    assert.equal(error.code, code, error.message);
    for (const words of speaksOf) assert.match(error.message, words);
    return true;
  };
