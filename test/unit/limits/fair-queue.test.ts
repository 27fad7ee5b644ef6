import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairQueue } from '../../../src/limits/fair-queue.ts';

const all = (queue: FairQueue<string>): readonly string[] => Array.from({ length: queue.size }, () => queue.take() ?? '');

describe('a fair queue', () => {
  it("serves owners round-robin, and each owner's items in order", () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.add(item.slice(0, 1), item);
    assert.deepEqual(all(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    assert.equal(queue.take(), undefined);
  });

  it('lets a new owner wait for one item of each present owner', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1', 'b2']) queue.add(item.slice(0, 1), item);
    assert.equal(queue.take(), 'a1');
    queue.add('c', 'c1');
    assert.deepEqual(all(queue), ['b1', 'a2', 'c1', 'b2']);
  });

  it('lets go of what is not to be done any more, and knows how much is left', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) queue.add(item.slice(0, 1), item);
    queue.delete('a', 'a1');
    queue.delete('a', 'a1');
    queue.delete('b', 'a2');
    queue.delete('d', 'd1');
    assert.equal(queue.size, 2);
    queue.delete('b', 'b1');
    assert.deepEqual(all(queue), ['a2']);
    assert.equal(queue.size, 0);
  });
});
