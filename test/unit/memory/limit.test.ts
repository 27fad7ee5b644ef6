import assert from 'node:assert/strict';
import { totalmem } from 'node:os';
import { describe, it } from 'node:test';
import { budgetWithin, memoryLimit } from '../../../src/memory/limit.ts';

const MIB = 1 << 20;

describe('the memory that a process may use', () => {
  it('is the configured value, and never more than the machine has', () => {
    assert.equal(memoryLimit(128 * MIB), 128 * MIB);
    assert.ok(memoryLimit(2 ** 60) <= totalmem());
    assert.ok(memoryLimit() <= totalmem());
  });

  it('leaves enough for a router itself', () => {
    assert.ok(budgetWithin(256 * MIB) >= 48 * MIB && budgetWithin(256 * MIB) <= 96 * MIB);
    assert.ok(budgetWithin(128 * MIB) > 0);
    assert.ok(budgetWithin(24 * 1024 * MIB) > 10 * 1024 * MIB);
  });
});
