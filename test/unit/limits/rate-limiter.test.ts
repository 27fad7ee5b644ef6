import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeyedRateLimiter, RateLimiter } from '../../../src/limits/rate-limiter.ts';

const RATE = { burst: 20, perSecond: 10 };

function takeAll(limiter: RateLimiter, clock: number): number {
  let taken = 0;
  while (limiter.take(clock)) taken += 1;
  return taken;
}

describe('a rate limiter', () => {
  it('gives its burst at once, and then its rate', () => {
    const limiter = new RateLimiter(RATE);
    assert.equal(takeAll(limiter, 0), 20);
    assert.equal(takeAll(limiter, 1_500), 15);
  });

  it('starts with a full burst, whatever the clock says', () => {
    for (const clock of [0, 5_000_000]) assert.equal(takeAll(new RateLimiter(RATE), clock), 20);
  });

  it('gives no more than its burst after a pause or after tokens are given back', () => {
    const limiter = new RateLimiter(RATE);
    limiter.take(0);
    limiter.refill(100_000);
    for (let count = 0; count < 50; count += 1) limiter.giveBack();
    assert.equal(takeAll(limiter, 100_000), 20);
  });

  it('gives a token again that was given back', () => {
    const limiter = new RateLimiter(RATE);
    takeAll(limiter, 0);
    limiter.giveBack();
    assert.equal(takeAll(limiter, 0), 1);
  });

  it('adds nothing when the clock goes back', () => {
    const limiter = new RateLimiter(RATE);
    takeAll(limiter, 10_000);
    assert.equal(takeAll(limiter, 9_000), 0);
    assert.equal(takeAll(limiter, 9_100), 1);
  });

  it('counts whole tokens, and is full at its burst', () => {
    const limiter = new RateLimiter(RATE);
    assert.ok(limiter.isFull(0));
    limiter.take(0);
    assert.ok(!limiter.isFull(0));
    assert.equal(limiter.left(50), 19);
    assert.ok(limiter.isFull(100));
  });

  it('spaces reservations beyond its burst at its rate', () => {
    const limiter = new RateLimiter({ burst: 2, perSecond: 10 });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => limiter.reserve(0)),
      [0, 0, 100, 200],
    );
    assert.equal(limiter.reserve(200), 100);
  });

  it('owes what is charged beyond its tokens', () => {
    const limiter = new RateLimiter(RATE);
    limiter.charge(25);
    assert.equal(limiter.tokens, -5);
    assert.equal(limiter.timeUntil(1), 600);
    assert.equal(limiter.take(500), false);
    assert.equal(limiter.refill(600), 1);
    assert.equal(limiter.timeUntil(1), 0);
  });
});

describe('a keyed rate limiter', () => {
  it('gives each key a rate of its own', () => {
    const limiters = new KeyedRateLimiter({ burst: 2, perSecond: 1 });
    assert.deepEqual([limiters.take('a', 0), limiters.take('a', 0), limiters.take('a', 0)], [true, true, false]);
    assert.deepEqual([limiters.left('a', 0), limiters.left('b', 0)], [0, 2]);
    assert.ok(limiters.take('b', 0));
    assert.equal(limiters.reserve('a', 500), 500);
  });

  it('evicts the least recently used key beyond its number of keys', () => {
    const limiters = new KeyedRateLimiter({ burst: 3, perSecond: 1 }, 2);
    for (const key of ['a', 'b', 'a', 'c']) limiters.take(key, 0);
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => limiters.left(key, 0)),
      [1, 3, 2],
    );
  });

  it('evicts only full limiters when asked to, and forgets a deleted key', () => {
    const limiters = new KeyedRateLimiter({ burst: 2, perSecond: 1 });
    for (const key of ['a', 'a', 'b']) limiters.take(key, 0);
    limiters.evictFull(1_000);
    assert.deepEqual([limiters.left('a', 1_000), limiters.left('b', 1_000)], [1, 2]);
    limiters.delete('a');
    assert.equal(limiters.left('a', 1_000), 2);
  });
});
