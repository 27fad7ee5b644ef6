import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { Pieces } from '../../../src/memory/pieces.ts';

test('bytes that wait are taken in their order, in whatever pieces they come and go', () => {
  const push = fc.record({ push: fc.oneof(fc.nat(4), fc.integer({ min: 1_000, max: 1_050 }), fc.nat(5_000)) });
  const take = fc.record({ take: fc.nat(6_000) });
  fc.assert(
    fc.property(fc.array(fc.oneof(push, take, fc.constant('all' as const)), { maxLength: 60 }), (steps) => {
      const pieces = new Pieces();
      let [pushed, taken] = [0, 0];
      const check = (bytes: Buffer): void => {
        for (const byte of bytes) assert.equal(byte, taken++ % 251);
      };
      for (const step of steps) {
        if (step === 'all') {
          check(Buffer.concat(pieces.takeAll()));
        } else if ('push' in step) {
          pieces.push(Buffer.from(Array.from({ length: step.push }, () => pushed++ % 251)));
        } else {
          const out = Buffer.alloc(7 + Math.min(step.take, pieces.bytes));
          pieces.takeInto(out, 7, out.length - 7);
          check(out.subarray(7));
        }
        assert.equal(pieces.bytes, pushed - taken);
      }
      check(Buffer.concat(pieces.takeAll()));
      assert.deepEqual([taken, pieces.bytes, pieces.held], [pushed, 0, 0]);
    }),
  );
});

test('bytes one by one cost about what they bring, and keep nothing else alive', () => {
  const pieces = new Pieces();
  for (let left = 100_000; left > 0; left -= 1) pieces.push(Buffer.of(1));
  assert.ok(pieces.held < 120_000, `${pieces.held} bytes`);
  const [first, ...rest] = pieces.takeAll();
  assert.equal(first?.length, 1);
  const memory = new Set(rest.map(({ buffer }) => buffer));
  const kept = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(kept < 110_000, `${kept} bytes in ${memory.size} buffers`);
});

test('short pieces between long ones keep no more than they bring', () => {
  const pieces = new Pieces();
  for (let left = 100; left > 0; left -= 1) {
    pieces.push(Buffer.alloc(1_025));
    pieces.push(Buffer.of(1));
  }
  const { held } = pieces;
  const kept = pieces.takeAll().reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  assert.ok(kept < held, `${kept} bytes are kept, and ${held} counted`);
});
