import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RepairLimiter } from '../../../src/work/repair-limiter.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Times of the writes of an object for so long, where something changes it back `every` so many milliseconds after a write. */
function fight(limiter: RepairLimiter, every: number, { from = 0, length = 10 * MINUTE, key = 'service a/web' } = {}): number[] {
  const writes: number[] = [];
  const request = { key, desired: 'as-planned' };
  for (let now = from; now < from + length;) {
    const delay = limiter.delay(request, now);
    if (delay > 0) {
      now += delay;
      continue;
    }
    limiter.wrote(request, now);
    writes.push(now);
    now += every;
  }
  return writes;
}

function mostInOneMinute(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + MINUTE).length));
}

describe('RepairLimiter', () => {
  test('repairs a few times at once, then less and less often', () => {
    const [created, ...repairs] = fight(new RepairLimiter(), 1, { length: 5 * MINUTE });
    assert.equal(created, 0);
    assert.deepEqual(
      repairs.map((at) => Math.round(at / SECOND)),
      [0, 0, 0, 10, 30, 70, 130, 190, 250],
    );
  });

  for (const every of [1, 100, SECOND, 9 * SECOND, 30 * SECOND, 59 * SECOND, 60 * SECOND, 61 * SECOND]) {
    test(`writes at most 6 times in any minute against a change ${every} ms after each write`, () => {
      assert.ok(mostInOneMinute(fight(new RepairLimiter(), every)) <= 6);
    });
  }

  test('writes at most 6 times in any minute against bursts that wait for its forgetting', () => {
    const limiter = new RepairLimiter();
    const times: number[] = [];
    for (let from = 0; from < 20 * MINUTE; from = (times.at(-1) ?? 0) + MINUTE) {
      times.push(...fight(limiter, 1, { from, length: 31 * SECOND }));
    }
    assert.ok(mostInOneMinute(times) <= 6, `${mostInOneMinute(times)}`);
  });

  test('never delays something new to write, however often it comes', () => {
    const limiter = new RepairLimiter();
    for (let now = 0; now < MINUTE; now += 100) {
      const request = { key: 'endpointslice a/b', desired: `${now}` };
      assert.equal(limiter.delay(request, now), 0);
      limiter.wrote(request, now);
    }
    assert.equal(limiter.isDamped('endpointslice a/b', MINUTE), false);
  });

  test('delays something new to write, too, where the object was overwritten', () => {
    const limiter = new RepairLimiter();
    const request = (now: number) => ({ key: 'a', desired: `${now % 2}`, isOverwritten: true });
    for (let now = 0; now < 4; now += 1) limiter.wrote(request(now), now);
    assert.ok(limiter.delay(request(4), 4) > 9 * SECOND);
    assert.equal(limiter.delay({ key: 'a', desired: 'edited' }, 4), 0);
  });

  test('repairs at once again after a minute in which the object stayed as it was written', () => {
    const limiter = new RepairLimiter();
    fight(limiter, 1, { length: 5 * MINUTE });
    const last = 6 * MINUTE;
    limiter.wrote({ key: 'service a/web', desired: 'as-planned' }, last);
    assert.ok(limiter.isDamped('service a/web', last + MINUTE - 1));
    assert.equal(limiter.isDamped('service a/web', last + MINUTE), false);
    assert.equal(limiter.delay({ key: 'service a/web', desired: 'as-planned' }, last + MINUTE), 0);
  });

  test('delays no other object', () => {
    const limiter = new RepairLimiter();
    fight(limiter, 1);
    assert.equal(limiter.delay({ key: 'service a/other', desired: 'as-planned' }, 10 * MINUTE), 0);
  });

  test('keeps what is to be reported until the fight is over', () => {
    const limiter = new RepairLimiter();
    const last = fight(limiter, 1).at(-1) ?? 0;
    const report = { fields: ['spec.ports'], manager: 'other' };
    limiter.note('service a/web', report, last);
    limiter.wrote({ key: 'service a/web', desired: 'as-planned' }, last + 1);
    assert.deepEqual(limiter.reported('service a/web', last + 1), { report, remaining: MINUTE });
    assert.equal(limiter.reported('service a/web', last + 1 + MINUTE), undefined);
  });

  test('remembers only the objects written in the last two minutes', () => {
    const limiter = new RepairLimiter();
    for (let now = 0; now < 10 * MINUTE; now += SECOND) limiter.wrote({ key: `${now}`, desired: 'x' }, now);
    assert.ok(limiter.size <= 121, `${limiter.size}`);
  });
});
