import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Fifo } from '../../../src/work/fifo.ts';

test('items come out in the order they went in, for any removals in between', () => {
  const step = fc.constantFrom('push', 'push', 'shift', 'keep', 'clear');
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const fifo = new Fifo<number>();
      let expected: number[] = [];
      for (const [number, what] of steps.entries()) {
        if (what === 'push') {
          fifo.push(number);
          expected.push(number);
        } else if (what === 'shift') {
          assert.equal(fifo.shift(), expected.shift());
        } else if (what === 'keep') {
          fifo.keep((kept) => kept % 2 === 0);
          expected = expected.filter((kept) => kept % 2 === 0);
        } else {
          fifo.clear();
          expected = [];
        }
        assert.deepEqual([fifo.size, fifo.first], [expected.length, expected[0]]);
      }
    }),
  );
});
