import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from '../../../../src/limits/loop/semaphore.ts';

const PATIENT = { deadline: 3_600_000 };

test('slots are given in the order asked for', async () => {
  const slots = new Semaphore(1, 10);
  assert.equal(await slots.take(PATIENT), 'granted');
  const seen: number[] = [];
  const waiting = [1, 2].map(async (number) => {
    await slots.take(PATIENT);
    seen.push(number);
    slots.giveBack();
  });
  slots.giveBack();
  await Promise.all(waiting);
  assert.deepEqual(seen, [1, 2]);
});

test('slots are granted round-robin among several owners', async () => {
  const slots = new Semaphore(1, 10);
  await slots.take(PATIENT);
  const seen: string[] = [];
  const waiting = ['a', 'a', 'a', 'b'].map(async (whose) => {
    await slots.take({ ...PATIENT, owner: whose });
    seen.push(whose);
    slots.giveBack();
  });
  slots.giveBack();
  await Promise.all(waiting);
  assert.deepEqual(seen, ['a', 'b', 'a', 'a']);
});

test('a request that waits too long, exceeds the queue or is aborted gets no slot', async () => {
  const slots = new Semaphore(1, 1);
  await slots.take(PATIENT);
  assert.equal(await slots.take({ deadline: 1 }), 'late');
  const stop = new AbortController();
  const stopped = slots.take({ ...PATIENT, signal: stop.signal });
  assert.equal(await slots.take(PATIENT), 'full');
  stop.abort(new Error('enough'));
  await assert.rejects(stopped, /enough/);
  slots.giveBack();
  assert.equal(await slots.take({ deadline: 0 }), 'granted');
});
