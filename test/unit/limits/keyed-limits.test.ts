import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeyedLimits } from '../../../src/limits/keyed-limits.ts';
import { RateLimiter } from '../../../src/limits/rate-limiter.ts';

const keyed = (most: number): KeyedLimits<RateLimiter> =>
  new KeyedLimits({ create: () => new RateLimiter({ burst: 1, perSecond: 1 }), isIdle: (limit, clock) => limit.isFull(clock), most });

describe('keyed limits', () => {
  it('create a limit at first use, and find it again', () => {
    const limits = keyed(2);
    assert.equal(limits.find('a'), undefined);
    const created = limits.of('a', 0);
    assert.equal(limits.of('a', 0), created);
    assert.equal(limits.find('a'), created);
  });

  it('evict idle limits, and only those, once there are as many as they may be', () => {
    const limits = keyed(2);
    const used = limits.of('used', 0);
    used.take(0);
    limits.of('idle', 0);
    limits.of('new', 0);
    assert.equal(limits.find('used'), used);
    assert.equal(limits.find('idle'), undefined);
  });

  it('have no capacity while none is idle, and add a limit all the same', () => {
    const limits = keyed(2);
    for (const key of ['a', 'b']) limits.of(key, 0).take(0);
    assert.equal(limits.hasCapacity(0), false);
    limits.of('c', 0).take(0);
    assert.notEqual(limits.find('c'), undefined);
    assert.equal(limits.hasCapacity(1_000), true);
    assert.equal(limits.find('a'), undefined);
  });
});
