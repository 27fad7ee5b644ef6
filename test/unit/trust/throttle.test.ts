import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Throttle } from '../../../src/trust/tokens/throttle.ts';
import { makeClock } from './support/site.ts';

describe('The throttle', () => {
  it('lets an address make five slips, then doubles its wait up to a quarter of an hour', () => {
    const clock = makeClock(0);
    const throttle = new Throttle(clock);
    const waits: number[] = [];
    for (let count = 0; count < 20; count += 1) {
      throttle.guessed('192.0.2.1', 'ours');
      const wait = throttle.waitFor('192.0.2.1', 'ours');
      waits.push(wait / 1_000);
      clock.advance(wait);
    }
    assert.deepEqual(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900, 900]);
  });

  it('holds back one address, and not its neighbours', () => {
    const throttle = new Throttle(() => 0);
    for (let count = 0; count < 10; count += 1) throttle.guessed('192.0.2.1', 'ours');
    assert.ok(throttle.waitFor('192.0.2.1', 'ours') > 0);
    assert.ok(throttle.waitFor('::ffff:192.0.2.1', 'ours') > 0, 'it is the same');
    assert.equal(throttle.waitFor('192.0.2.2', 'ours'), 0);
  });

  it('forgets an address that has not guessed for an hour', () => {
    const clock = makeClock(0);
    const throttle = new Throttle(clock);
    for (let count = 0; count < 8; count += 1) throttle.guessed('192.0.2.1', 'ours');
    clock.advance(3_600_001);
    throttle.guessed('192.0.2.1', 'ours');
    assert.equal(throttle.waitFor('192.0.2.1', 'ours'), 0);
  });

  it("slows all clients down if many addresses guess at a person's code, but none with a generated code", () => {
    const clock = makeClock(0);
    const throttle = new Throttle(clock);
    for (let count = 0; count < 300; count += 1) throttle.guessed(`192.0.3.${count}`, 'ours');
    assert.equal(throttle.waitFor('203.0.113.1', "person's"), 0);
    for (let count = 0; count < 200; count += 1) throttle.guessed(`192.0.2.${count}`, "person's");
    assert.deepEqual([throttle.waitFor('203.0.113.1', "person's"), throttle.waitFor('203.0.113.1', 'ours')], [500, 0]);
    clock.advance(500);
    assert.equal(throttle.waitFor('203.0.113.1', "person's"), 0);
    throttle.guessed('198.51.100.1', "person's");
    assert.equal(throttle.waitFor('203.0.113.1', "person's"), 500);
  });

  it('holds a bounded number of addresses, those that guessed last', () => {
    const clock = makeClock(0);
    const throttle = new Throttle(clock);
    for (let count = 0; count < 12; count += 1) throttle.guessed('192.0.2.1', 'ours');
    clock.advance(60_000);
    assert.ok(throttle.waitFor('192.0.2.1', 'ours') > 0);
    for (let count = 0; count < 4_096; count += 1) throttle.guessed(`10.1.${count >> 8}.${count & 255}`, 'ours');
    clock.advance(1_000);
    assert.equal(throttle.waitFor('192.0.2.1', 'ours'), 0, 'it made room');
  });
});
