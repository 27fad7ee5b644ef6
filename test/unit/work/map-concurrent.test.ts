import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapConcurrent } from '../../../src/work/map-concurrent.ts';

test('so many jobs are under way at once, and all are done, in their order', async () => {
  const begun: number[] = [];
  let now = 0;
  let most = 0;
  const jobs = Array.from({ length: 7 }, (_, index) => async () => {
    begun.push(index);
    most = Math.max(most, ++now);
    await new Promise(setImmediate);
    now--;
  });
  await mapConcurrent(3, jobs);
  assert.deepEqual([begun, most, now], [[0, 1, 2, 3, 4, 5, 6], 3, 0]);
});

test('no job begins once one has failed', async () => {
  const begun: number[] = [];
  const jobs = [0, 1, 2, 3].map((index) => async () => {
    begun.push(index);
    await Promise.resolve();
    if (index === 0) throw new Error('no');
  });
  await assert.rejects(mapConcurrent(1, jobs), /no/);
  assert.deepEqual(begun, [0]);
});
