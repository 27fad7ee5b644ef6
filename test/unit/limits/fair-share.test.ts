import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FairShare } from '../../../src/limits/fair-share.ts';

interface Case {
  readonly what: string;
  readonly held: Readonly<Record<string, number>>;
  readonly taken: number;
  readonly mayCome?: boolean;
}

function sharesOf(most: number, held: Readonly<Record<string, number>>, lends = false): FairShare {
  const shares = new FairShare(most, lends);
  for (const [owner, amount] of Object.entries(held)) shares.change(owner, amount);
  return shares;
}

/** How much an owner can take, one by one, up to so much. */
function takenBy(shares: FairShare, owner: string, mayCome = true, most = Infinity): number {
  let taken = 0;
  while (taken < most && shares.hasRoom(owner, 1, mayCome)) {
    shares.change(owner, 1);
    taken += 1;
  }
  return taken;
}

describe('shares', () => {
  /** One part of sixteen, 80, is set aside for those who have little: two, where there is so little of all. */
  const most = 1_280;
  const cases: readonly Case[] = [
    { what: 'one that is alone has three quarters of what is not set aside', held: {}, taken: 900 },
    { what: 'one that is alone for good has all', held: {}, taken: 1_280, mayCome: false },
    { what: 'one beside many that have little has half of that', held: { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 }, taken: 594 },
    { what: 'two have as much as each other', held: { other: 450 }, taken: 450 },
    { what: 'an owner after one at its limit has three fifths of the rest', held: { other: 900 }, taken: 180 },
    { what: 'the next has half of what is left then', held: { a: 900, b: 180 }, taken: 60 },
    { what: 'an owner that comes when all of that is taken has a little', held: { other: 1_200 }, taken: 2 },
    { what: 'an owner that comes when all is taken has nothing', held: { other: 1_280 }, taken: 0 },
  ];
  for (const { what, held, taken, mayCome } of cases) {
    it(what, () => assert.equal(takenBy(sharesOf(most, held), 'own', mayCome), taken));
  }

  it('of revocable capacity give a new owner an equal part of one half, for any holdings of others', () => {
    assert.equal(takenBy(sharesOf(1_200, { other: 1_500 }, true), 'own'), 200);
    assert.equal(takenBy(sharesOf(1_200, { a: 900, b: 300, c: 0 }, true), 'own'), 150);
  });

  it('of what can be taken back are nearly all that there is, where many have as much as each other', () => {
    const shares = sharesOf(1_200, {}, true);
    const owners = Array.from({ length: 20 }, (_, number) => `owner ${number}`);
    for (let round = 0; round < 100; round += 1) for (const owner of owners) takenBy(shares, owner, true, 1);
    assert.ok(shares.held.total > 1_100 && shares.held.total <= 1_200, `${shares.held.total} are taken`);
  });

  it('are nearly all of the capacity, too, if no other owner may come', () => {
    const shares = sharesOf(1_200, {});
    const owners = Array.from({ length: 20 }, (_, number) => `owner ${number}`);
    for (let round = 0; round < 100; round += 1) for (const owner of owners) takenBy(shares, owner, round === 0, 1);
    assert.ok(shares.held.total > 1_100 && shares.held.total <= 1_200, `${shares.held.total} are taken`);
  });

  it('never end where there is no bound', () => {
    const shares = sharesOf(Infinity, { own: 1e12 });
    assert.ok(shares.hasRoom('own', 1) && shares.hasRoom('other', 1, false));
  });

  it('of a hundred that are greedy leave each a little, and those after them, too', () => {
    const shares = sharesOf(32_768, {});
    const taken = Array.from({ length: 128 }, (_, number) => takenBy(shares, `owner ${number}`));
    assert.deepEqual(taken.slice(0, 3), [23_040, 4_608, 1_536]);
    assert.equal(Math.min(...taken), 16);
  });

  /** In whatever order they come, take and go. @param look what holds after each step */
  function inAnyOrder(all: number, look: (shares: FairShare) => void): void {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 7 }),
      fc.oneof(fc.constant(Infinity), fc.constant(-Infinity), fc.integer({ min: -3_000, max: 3_000 })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shares = new FairShare(all);
        for (const [owner, change] of steps) {
          const name = `owner ${owner}`;
          if (change > 0) takenBy(shares, name, true, change);
          else shares.change(name, -Math.min(-change, shares.held.of(name)));
          look(shares);
        }
      }),
    );
  }

  it('leave to the next what they promise, in whatever order owners come, take and go', () => {
    // A little is 4, and 625 are set aside.
    inAnyOrder(10_000, ({ held: { total, owners } }) => {
      const free = (6 * 9_375) / ((owners + 1) * (owners + 2) * (owners + 3)) - 4 * owners;
      assert.ok(9_375 - total >= Math.floor(free), `${9_375 - total} are free beside ${owners} owners`);
    });
  });

  it('are never more than there is, and each has a little while there are as many owners as that is set aside for, or fewer', () => {
    // Ten are set aside: for five owners with two each.
    const few = 160;
    inAnyOrder(few, (shares) => {
      const { held } = shares;
      assert.ok(held.total <= few, `${held.total} are taken`);
      for (const owner of [...Array.from({ length: 8 }, (_, number) => `owner ${number}`), 'next']) {
        const owners = held.owners + (held.of(owner) === 0 ? 1 : 0);
        if (owners > 5 || held.of(owner) > 2) continue;
        assert.ok(shares.hasRoom(owner, 2 - held.of(owner)), `${owner} of ${owners} has no room for a little`);
      }
    });
  });
});
