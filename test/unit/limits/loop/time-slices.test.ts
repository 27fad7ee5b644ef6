import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TimeSlices } from '../../../../src/limits/loop/time-slices.ts';
import { RoundRobin } from '../../../../src/limits/loop/round-robin.ts';

const spin = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
};

describe('TimeSlices', () => {
  test('let the event loop go on between two slices', async () => {
    const slices = new TimeSlices(new RoundRobin(), 'a');
    let iterations = 0;
    let isDone = false;
    const count = (): void => {
      iterations += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    for (let piece = 0; piece < 50; piece += 1) {
      await slices.next();
      spin(1);
    }
    isDone = true;
    assert.ok(iterations >= 5, `${iterations}`);
  });

  test('are given round-robin, however many one work asks for', async () => {
    const turns = new RoundRobin();
    const order: string[] = [];
    const run = async (whose: string, many: number): Promise<void> => {
      const slices = new TimeSlices(turns, whose);
      await Promise.all(
        Array.from({ length: many }, async () => {
          await slices.rest();
          order.push(whose);
        }),
      );
    };
    await Promise.all([run('crowded', 100), run('other', 1)]);
    assert.ok(order.indexOf('other') <= 1, order.slice(0, 5).join());
  });

  test('cost nothing while a slice lasts', async (t) => {
    t.mock.method(performance, 'now', () => 1_000);
    const slices = new TimeSlices(new RoundRobin(), 'a');
    await slices.rest();
    let isInterrupted = false;
    setImmediate(() => (isInterrupted = true));
    for (let piece = 0; piece < 10; piece += 1) await slices.next();
    assert.equal(isInterrupted, false);
  });
});
