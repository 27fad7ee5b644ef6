import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elapsed } from '../../../src/text/elapsed.ts';

test('an elapsed time has its two largest units, without those that are zero', () => {
  const texts = [-5, 0, 999, 59_000, 60_000, 61_000, 3_600_000, 3_661_000, 86_400_000, 90_000_000].map(elapsed);
  assert.deepEqual(texts, ['0s', '0s', '0s', '59s', '1m', '1m1s', '1h', '1h1m', '1d', '1d1h']);
});
