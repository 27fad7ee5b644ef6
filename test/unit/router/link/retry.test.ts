import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelay } from '../../../../src/router/link/dial/retry.ts';

test('a link is tried again soon at first, and then ever more rarely', () => {
  assert.deepEqual(
    [1, 2, 3, 4].map((failures) => retryDelay('refused', failures, 0)),
    [100, 200, 400, 800],
  );
});

test('transient errors are retried at least every three seconds, those that a person has to fix every ten', () => {
  assert.equal(retryDelay('unreachable', 1_000, 0), 3_000);
  assert.equal(retryDelay('timeout', 1_000, 0), 3_000);
  // A site that is being moved from Skupper.
  assert.equal(retryDelay('not-earshot', 1_000, 0), 3_000);
  assert.equal(retryDelay('tls-expired', 1_000, 0), 10_000);
  assert.equal(retryDelay('revoked', 1_000, 0), 10_000);
});

test('links that failed together are not retried together', () => {
  assert.equal(retryDelay('refused', 1_000, 0.999) < 1_510, true);
});
