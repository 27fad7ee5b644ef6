import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TrustCode } from '../../../src/trust/errors.ts';
import { retryOf, type Failure } from '../../../src/trust/tokens/retry.ts';

const failure = (code: TrustCode | undefined, given: Partial<Failure> = {}): Failure => ({
  code,
  failures: 1,
  since: 0,
  asked: 0,
  ...given,
});

describe('A token that could not be redeemed', () => {
  it('is retried often and quietly while its site is unreachable, for half a minute, and then rarely and aloud', () => {
    for (const code of ['unreachable', 'server-busy'] as const) {
      assert.deepEqual(retryOf(failure(code), 0), { after: 250, isQuiet: true });
      assert.deepEqual(retryOf(failure(code, { failures: 20, since: 20_000 }), 0), { after: 5_000, isQuiet: true });
      assert.deepEqual(retryOf(failure(code, { failures: 20, since: 26_000 }), 0), { after: 5_000, isQuiet: false });
      assert.deepEqual(retryOf(failure(code, { failures: 20, since: 30_000 }), 0), { after: 60_000, isQuiet: false });
    }
  });

  it('is retried rarely, and aloud, for errors that a person may fix', () => {
    for (const code of ['server-failed', 'state-unavailable', 'clock-wrong', undefined] as const) {
      assert.deepEqual(retryOf(failure(code), 0), { after: 1_000, isQuiet: false });
      assert.deepEqual(retryOf(failure(code, { failures: 20 }), 0.5), { after: 45_000, isQuiet: false });
    }
  });

  it('is not tried again where the server refuses it', () => {
    for (const code of ['token-used-up', 'token-expired', 'token-wrong-code', 'revoked'] as const)
      assert.equal(retryOf(failure(code), 0), undefined);
  });

  it('waits as long as the server asks, a minute at most', () => {
    assert.deepEqual(retryOf(failure('server-busy', { asked: 7_000 }), 0), { after: 7_000, isQuiet: true });
    assert.deepEqual(retryOf(failure('server-busy', { asked: 999_999_000 }), 0), { after: 60_000, isQuiet: false });
  });
});
