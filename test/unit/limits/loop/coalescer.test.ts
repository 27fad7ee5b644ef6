import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coalescer } from '../../../../src/limits/loop/coalescer.ts';

test('requests during a pass cause exactly one more pass', async () => {
  let running = 0;
  let most = 0;
  let ran = 0;
  const passes = new Coalescer('pass/test', async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    ran += 1;
  });
  for (let i = 0; i < 5; i++) passes.request();
  await passes.idle();
  assert.deepEqual([ran, most], [2, 1]);
  passes.request();
  await passes.idle();
  assert.equal(ran, 3);
});

test('a pass may ask for a later one, and none begins after the end', async () => {
  let ran = 0;
  const third = Promise.withResolvers<void>();
  const passes = new Coalescer('pass/test', () => {
    ran += 1;
    if (ran === 3) third.resolve();
    passes.requestIn(1);
    return Promise.resolve();
  });
  passes.request();
  const alive = setTimeout(() => {}, 10_000);
  await third.promise;
  clearTimeout(alive);
  await passes.end();
  passes.request();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(ran, 3);
});
