import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffDelay } from '../../../src/work/backoff.ts';

test('a backoff doubles from the first pause to the longest, and stays there', () => {
  const delays = [1, 2, 3, 4, 1_000_000].map((failures) => backoffDelay({ first: 100, max: 500 }, failures, 0));
  assert.deepEqual(delays, [100, 200, 400, 500, 500]);
});

test('chance takes off up to half', () => {
  assert.equal(backoffDelay({ first: 100, max: 500 }, 1, 0.5), 75);
  assert.equal(backoffDelay({ first: 100, max: 500 }, 9, 0.999) > 250, true);
});
