import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { DelayedCall, type DelayedCallOptions } from '../../../../src/limits/loop/delayed-call.ts';
import { logInternalErrors } from '../../../../src/telemetry/boundary.ts';
import { silentLog } from '../../support/log-lines.ts';

interface Timed {
  readonly delayed: DelayedCall;
  /** Times of the calls. */
  readonly calls: readonly number[];
  advance(milliseconds: number): Promise<void>;
}

function timed(t: TestContext, options: Partial<DelayedCallOptions>): Timed {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const calls: number[] = [];
  const call = (): void => void calls.push(now);
  return {
    delayed: new DelayedCall({ name: 'look/test', call, ...options }),
    calls,
    advance: async (milliseconds) => {
      now += milliseconds;
      t.mock.timers.tick(milliseconds);
      await nextIteration();
    },
  };
}

test('requests of one event-loop iteration cause one call in the next', async (t) => {
  const { delayed, calls, advance } = timed(t, {});
  for (let count = 0; count < 3; count += 1) delayed.request();
  assert.deepEqual(calls, [], 'never within the request');
  await advance(0);
  assert.deepEqual(calls, [0]);
  delayed.request();
  await advance(1);
  assert.deepEqual(calls, [0, 1]);
});

for (const atOnce of [false, true]) {
  test(`an interval joins requests; the first call is ${atOnce ? 'within the request' : 'in the next iteration'}`, async (t) => {
    const { delayed, calls, advance } = timed(t, { interval: () => 100, atOnce });
    delayed.request();
    assert.deepEqual(calls, atOnce ? [0] : []);
    await advance(0);
    await advance(10);
    for (let count = 0; count < 3; count += 1) delayed.request();
    await advance(89);
    assert.deepEqual(calls, [0]);
    await advance(1);
    assert.deepEqual(calls, [0, 100]);
    await advance(300);
    assert.deepEqual(calls, [0, 100], 'not without a request');
    delayed.request();
    await advance(0);
    assert.deepEqual(calls, [0, 100, 400]);
  });
}

test('a request may have a delay of its own, and none has an effect after the end', async (t) => {
  const { delayed, calls, advance } = timed(t, { delay: () => 100 });
  delayed.requestIn(5);
  delayed.request();
  await advance(5);
  assert.deepEqual(calls, [5]);
  delayed.request();
  delayed.end();
  delayed.request();
  await advance(1_000);
  assert.deepEqual(calls, [5]);
});

test('a call that throws is reported, and the next request causes another', async (t) => {
  logInternalErrors(silentLog);
  let errors = 0;
  let calls = 0;
  const call = (): void => {
    calls += 1;
    if (calls === 1) throw new Error('a fault');
  };
  const { delayed, advance } = timed(t, { call, onError: () => (errors += 1) });
  delayed.request();
  await advance(0);
  delayed.request();
  await advance(0);
  assert.deepEqual([calls, errors], [2, 1]);
});
