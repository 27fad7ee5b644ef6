import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Budget } from '../../../../src/router/http2/budget.ts';

describe('a budget', () => {
  function budget() {
    const clock = { now: 0 };
    const made = new Budget({ burst: 20, perSecond: 10 }, () => clock.now);
    const takeAll = (): number => {
      let taken = 0;
      while (made.take()) taken += 1;
      return taken;
    };
    return { made, clock, takeAll };
  }

  it('gives so much at once, and then so much a second', () => {
    const { clock, takeAll } = budget();
    assert.equal(takeAll(), 20);
    clock.now = 1_500;
    assert.equal(takeAll(), 15);
  });

  it('gives no more at once for having been idle, nor for what was earned', () => {
    const { made, clock, takeAll } = budget();
    made.take();
    clock.now = 100_000;
    for (let count = 0; count < 50; count += 1) made.earn();
    assert.equal(takeAll(), 20);
  });
});
