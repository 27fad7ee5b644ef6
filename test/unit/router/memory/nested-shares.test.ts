import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NestedShares, type Whose } from '../../../../src/router/memory/nested-shares.ts';

/** How much they can take, one by one. */
function takenBy(shares: NestedShares, whose: Whose, most?: number): number {
  let taken = 0;
  while (shares.hasRoom(whose, 1, most)) {
    shares.change(whose, 1);
    taken += 1;
  }
  return taken;
}

describe('shares within shares', () => {
  it('leave a part of what a site may have to a key of it that comes later', () => {
    const shares = new NestedShares(1_600);
    assert.equal(takenBy(shares, { owner: 'site', key: 'first' }), 900, 'three quarters of three quarters');
    assert.equal(takenBy(shares, { owner: 'site', key: 'second' }), 200);
    assert.equal(takenBy(shares, { owner: 'other', key: 'first' }), 200, 'three quarters of its part');
  });

  it('give a site no more for having more keys', () => {
    const shares = new NestedShares(1_600);
    for (let number = 0; number < 500; number += 1) takenBy(shares, { owner: 'greedy', key: `key ${number}` });
    assert.ok(shares.owners.heldBy('greedy') <= 1_200);
    assert.ok(takenBy(shares, { owner: 'honest', key: 'key' }) >= 200);
  });

  it('are not parted where no key is said', () => {
    const shares = new NestedShares(1_600);
    assert.equal(takenBy(shares, { owner: 'key web' }), 1_200);
  });

  it('are of what there is at the moment', () => {
    const shares = new NestedShares(0);
    assert.equal(takenBy(shares, { owner: 'key web' }, 100), 75);
    assert.equal(takenBy(shares, { owner: 'key web' }, 200), 75);
    assert.equal(takenBy(shares, { owner: 'key web' }, 100), 0);
  });

  it('are as before when all was given back', () => {
    const shares = new NestedShares(100);
    const whose = { owner: 'site', key: 'web' };
    shares.change(whose, 50);
    shares.change(whose, -50);
    assert.deepEqual([shares.owners.total, shares.owners.owners.size], [0, 0]);
    assert.equal(takenBy(shares, { owner: 'site', key: 'other' }), takenBy(new NestedShares(100), { owner: 'site', key: 'other' }));
  });
});
