import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Shares } from '../../../../src/router/memory/shares.ts';

const sharesOf = (most: number, held: Readonly<Record<string, number>>): Shares => {
  const shares = new Shares(most);
  for (const [owner, amount] of Object.entries(held)) shares.change(owner, amount);
  return shares;
};

/** How much an owner can take, one by one. */
function takenBy(shares: Shares, owner: string, mayCome = true): number {
  let taken = 0;
  while (shares.hasRoom(owner, 1, mayCome)) {
    shares.change(owner, 1);
    taken += 1;
  }
  return taken;
}

describe('shares', () => {
  const cases: readonly {
    readonly what: string;
    readonly held: Readonly<Record<string, number>>;
    readonly taken: number;
    readonly mayCome?: boolean;
  }[] = [
    { what: 'one that is alone has three quarters', held: {}, taken: 900 },
    { what: 'one that is alone for good has all', held: {}, taken: 1_200, mayCome: false },
    {
      what: 'beside one that has little, a part is kept for that one and for one that may come',
      held: { other: 1 },
      taken: 1_200 - 200 - 200,
    },
    { what: 'beside one that has much, only what is kept for one that may come', held: { other: 600 }, taken: 1_200 - 600 - 200 },
    { what: 'whoever comes when one has all that it may has an equal part', held: { other: 900 }, taken: 200 },
    { what: 'whoever comes when all is taken has an equal part', held: { other: 1_500 }, taken: 200 },
    { what: 'whoever comes last of six has its part', held: { a: 300, b: 200, c: 200, d: 200, e: 200 }, taken: 85 },
  ];
  for (const { what, held, taken, mayCome } of cases) {
    it(what, () => assert.equal(takenBy(sharesOf(1_200, held), 'own', mayCome), taken));
  }

  it('never end where there is no bound', () => {
    const shares = sharesOf(Infinity, { own: 1e12 });
    assert.ok(shares.hasRoom('own', 1) && shares.hasRoom('other', 1, false));
  });

  it('are as before when all was given back', () => {
    const shares = sharesOf(100, { a: 50, b: 10 });
    shares.change('a', -50);
    shares.change('b', -10);
    assert.deepEqual([shares.total, shares.owners.size], [0, 0]);
  });

  const excesses: readonly {
    readonly held: Readonly<Record<string, number>>;
    readonly target: number;
    readonly excess: Readonly<Record<string, number>>;
  }[] = [
    { held: { a: 10, b: 5 }, target: 15, excess: {} },
    { held: { a: 10, b: 5 }, target: 12, excess: { a: 3 } },
    { held: { a: 10, b: 5 }, target: 6, excess: { a: 7, b: 2 } },
    { held: { a: 10, b: 10, c: 1 }, target: 11, excess: { a: 5, b: 5 } },
    { held: { a: 10, b: 6, c: 1 }, target: 0, excess: { a: 10, b: 6, c: 1 } },
  ];
  for (const { held, target, excess } of excesses) {
    it(`of ${JSON.stringify(held)} brought down to ${target} give back ${JSON.stringify(excess)}`, () => {
      assert.deepEqual(Object.fromEntries(sharesOf(100, held).excess(target)), excess);
    });
  }
});
