import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NestedFairShare, type ShareOwner } from '../../../src/limits/nested-fair-share.ts';

/** How much they can take, one by one, up to so much. */
function takenBy(shares: NestedFairShare, whose: ShareOwner, most = Infinity): number {
  let taken = 0;
  while (taken < most && shares.hasRoom(whose, 1)) {
    shares.change(whose, 1);
    taken += 1;
  }
  return taken;
}

/** Of these, 1,600 are not set aside for those who have little. */
const MOST = 1_600 / (1 - 1 / 16);

describe('shares within shares', () => {
  it('leave a part of what a site may have to a key of it that comes later', () => {
    const shares = new NestedFairShare(MOST);
    assert.equal(takenBy(shares, { owner: 'site', key: 'first' }), 900, 'three quarters of three quarters');
    assert.equal(takenBy(shares, { owner: 'site', key: 'second' }), 100, 'a third of what is kept for keys');
    assert.equal(takenBy(shares, { owner: 'other', key: 'first' }), 180, 'three quarters of three fifths of the rest');
  });

  it('let a key in whose site has others that have little', () => {
    const shares = new NestedFairShare(MOST);
    for (let number = 0; number < 20; number += 1) shares.change({ owner: 'site', key: `key ${number}` }, 1);
    assert.equal(takenBy(shares, { owner: 'site', key: 'busy' }), 880);
  });

  it('keep room for the second key of each site, however many sites come and fill what they get', () => {
    const shares = new NestedFairShare(32_768);
    const sites = Array.from({ length: 8 }, (_, number) => `site ${number}`);
    for (const owner of [...sites, ...sites]) takenBy(shares, { owner, key: 'greedy' });
    assert.deepEqual(
      sites.filter((owner) => !shares.hasRoom({ owner, key: 'other' }, 1)),
      [],
    );
    assert.ok(shares.hasRoom({ owner: 'new', key: 'greedy' }, 1));
  });

  it('let in the first of a key as long as anything is kept for its site, however many keys the site has', () => {
    const shares = new NestedFairShare(MOST);
    takenBy(shares, { owner: 'site', key: 'greedy' });
    let keys = 0;
    while (keys < 1_000 && shares.hasRoom({ owner: 'site', key: `key ${keys}` }, 1))
      shares.change({ owner: 'site', key: `key ${keys++}` }, 1);
    assert.equal(keys, 300);
  });

  it('give a site no more for having more keys', () => {
    const shares = new NestedFairShare(MOST);
    for (let number = 0; number < 500; number += 1) takenBy(shares, { owner: 'greedy', key: `key ${number}` });
    assert.ok(shares.owners.of('greedy') <= 1_200);
    assert.ok(takenBy(shares, { owner: 'honest', key: 'key' }) >= 180);
  });

  it('are not parted where no key is said', () => {
    const shares = new NestedFairShare(MOST);
    assert.equal(takenBy(shares, { owner: 'key web' }), 1_200);
  });

  it('are of what there is at the moment', () => {
    const shares = new NestedFairShare(0);
    const taken = [100, 200, 100].map((most) => {
      shares.most = most / (1 - 1 / 16);
      return takenBy(shares, { owner: 'key web' });
    });
    assert.deepEqual(taken, [75, 75, 0]);
  });

  it('are as before when all was given back', () => {
    const shares = new NestedFairShare(100);
    const whose = { owner: 'site', key: 'web' };
    shares.change(whose, 50);
    shares.change(whose, -50);
    assert.deepEqual([shares.owners.total, shares.owners.owners], [0, 0]);
    assert.equal(takenBy(shares, { owner: 'site', key: 'other' }), takenBy(new NestedFairShare(100), { owner: 'site', key: 'other' }));
  });

  const steps = fc.array(
    fc.record({
      owner: fc.integer({ min: 0, max: 5 }),
      key: fc.integer({ min: 0, max: 5 }),
      change: fc.oneof(fc.constant(Infinity), fc.constant(-Infinity), fc.integer({ min: -3_000, max: 3_000 })),
    }),
    { maxLength: 60 },
  );
  /** Amount of each key, as the test counts it. */
  type Held = Map<string, Map<string, number>>;

  /** @param look what holds after each step */
  function inAnyOrder(most: number, lends: boolean, look: (shares: NestedFairShare, held: Held) => void): void {
    fc.assert(
      fc.property(steps, (all) => {
        const shares = new NestedFairShare(most, lends);
        const held: Held = new Map();
        for (const { owner, key, change } of all) {
          const whose = { owner: `owner ${owner}`, key: `key ${key}` };
          const keys = held.get(whose.owner) ?? new Map<string, number>();
          held.set(whose.owner, keys);
          const had = keys.get(whose.key) ?? 0;
          const changed = change > 0 ? takenBy(shares, whose, change) : -Math.min(-change, had);
          if (change <= 0) shares.change(whose, changed);
          keys.set(whose.key, had + changed);
          if (had + changed === 0) keys.delete(whose.key);
          if (keys.size === 0) held.delete(whose.owner);
          look(shares, held);
        }
      }),
    );
  }
  const sum = (keys: ReadonlyMap<string, number>): number => keys.values().reduce((total, amount) => total + amount, 0);
  /** Amount that it could take. */
  function couldTake(shares: NestedFairShare, whose: ShareOwner): number {
    const taken = takenBy(shares, whose);
    shares.change(whose, -taken);
    return taken;
  }

  it('are never more than there is, and leave their part to the next owner, in whatever order owners and keys come, take and go', () => {
    const most = 20_000;
    inAnyOrder(most, false, (shares, held) => {
      assert.ok(shares.owners.total <= most, `${shares.owners.total} are taken`);
      assert.equal(
        shares.owners.total,
        held.values().reduce((total, keys) => total + sum(keys), 0),
      );
      const owners = held.size;
      const little = most / 2_048;
      const free = (6 * most * (1 - 1 / 16)) / ((owners + 1) * (owners + 2) * (owners + 3)) - little * owners;
      // Of what is free three parts of as many as there are then and three, and of that three quarters for its first key.
      const part = Math.max(Math.floor((((3 * free) / (owners + 4)) * 3) / 4), Math.floor((little * 3) / 4)) - 3;
      const taken = couldTake(shares, { owner: 'next', key: 'first' });
      assert.ok(taken >= part, `the owner after ${owners} has ${taken}, and not ${part}`);
    });
  });

  for (const lends of [false, true]) {
    it(`leave its part to the next key of each owner, whatever the others do${lends ? ', of what can be taken back, too' : ''}`, () => {
      inAnyOrder(20_000, lends, (shares, held) => {
        for (const [owner, keys] of held) {
          const part = Math.floor((sum(keys) / (3 * (keys.size + 1)) - keys.size) / (keys.size + 2)) - 1;
          const taken = couldTake(shares, { owner, key: 'next' });
          assert.ok(taken >= part, `the key after ${keys.size} has ${taken}, and not ${part}`);
        }
      });
    });
  }

  it('of one key alone are a large part, and of one key beside others of its owner that have little, too', () => {
    for (const others of [0, 5]) {
      const shares = new NestedFairShare(10_000);
      for (let number = 0; number < others; number += 1) shares.change({ owner: 'site', key: `key ${number}` }, 1);
      assert.ok(takenBy(shares, { owner: 'site', key: 'busy' }) >= 5_200);
    }
  });
});
