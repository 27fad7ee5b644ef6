import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Amounts } from '../../../src/limits/amounts.ts';

const amountsOf = (held: Readonly<Record<string, number>>): Amounts => {
  const amounts = new Amounts();
  for (const [owner, amount] of Object.entries(held)) amounts.change(owner, amount);
  return amounts;
};

describe('amounts', () => {
  it('are those of each owner that has something', () => {
    const amounts = amountsOf({ a: 50, b: 10 });
    assert.deepEqual([amounts.total, amounts.owners, amounts.largest, amounts.of('b'), amounts.of('c')], [60, 2, 50, 10, 0]);
    amounts.change('a', -50);
    amounts.change('b', -10);
    assert.deepEqual([amounts.total, amounts.owners, amounts.largest], [0, 0, 0]);
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
      assert.deepEqual(Object.fromEntries(amountsOf(held).excess(target)), excess);
    });
  }
});
