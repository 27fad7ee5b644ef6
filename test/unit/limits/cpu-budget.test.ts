import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuBudget, KeyedCpuBudget } from '../../../src/limits/cpu-budget.ts';

test('a share of the time is spent when more was taken than it gives, and comes back with time', () => {
  const share = new CpuBudget(0.1, 50);
  share.spend(50, 1_000);
  assert.equal(share.wait(1_000), 0);
  share.spend(30, 1_000);
  assert.equal(share.wait(1_000), 300);
  assert.ok(share.wait(1_290) > 9);
  assert.equal(share.wait(1_310), 0);
  // Unused time is not saved, and a clock that goes back costs nothing.
  assert.equal(share.wait(100_000), 0);
  share.spend(51, 99_000);
  assert.equal(share.wait(99_000), 10);
});

test('a long run while the whole process stood still causes no long debt', () => {
  const share = new CpuBudget(0.1, 50);
  share.spend(30_000, 0);
  assert.equal(share.wait(0), 9_500);
});

test('each name has its share, which is forgotten once nothing of it is spent', () => {
  const shares = new KeyedCpuBudget(0.1, 50);
  const [one, other] = [shares.of('one'), shares.of('other')];
  one.spend(60, 0);
  assert.equal(one.wait(0), 100);
  assert.equal(shares.of('one').wait(0), 100);
  assert.equal(other.wait(0), 0);
  for (let number = 0; number < 5_000; number += 1) shares.of(`name-${number}`).spend(1, number);
  assert.equal(one.wait(5_000), 0);
  one.spend(60, 5_000);
  assert.equal(shares.of('one').wait(5_000), 100);
});
