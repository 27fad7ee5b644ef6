import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coalescer } from '../../../../src/limits/loop/coalescer.ts';

test('what is asked for while a pass runs makes one more, and one only', async () => {
  let running = 0;
  let most = 0;
  let ran = 0;
  const passes = new Coalescer(async () => {
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
  const passes = new Coalescer(() => {
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

test('a minimum interval separates the begins of runs, and joins what is requested in between', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const begins: number[] = [];
  const advance = async (milliseconds: number): Promise<void> => {
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
    await new Promise(setImmediate);
  };
  const coalescer = new Coalescer(
    async () => {
      begins.push(now);
      // A request during a run is for the next one.
      if (begins.length === 2) coalescer.request();
    },
    () => 100,
  );
  coalescer.request();
  assert.deepEqual(begins, [], 'never within the request');
  await advance(0);
  await advance(10);
  for (let count = 0; count < 3; count += 1) coalescer.request();
  await advance(89);
  assert.deepEqual(begins, [0]);
  await advance(1);
  assert.deepEqual(begins, [0, 100]);
  await advance(100);
  assert.deepEqual(begins, [0, 100, 200]);
  coalescer.request();
  await coalescer.end();
  await advance(1_000);
  assert.deepEqual(begins, [0, 100, 200]);
});
