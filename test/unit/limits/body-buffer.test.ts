import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BodyBuffer } from '../../../src/limits/body-buffer.ts';

describe('What is gathered', () => {
  it('is put together in order, up to so many bytes', () => {
    const gathered = new BodyBuffer({ bytes: 10_000, pieces: 100 });
    const pieces = ['a', 'b'.repeat(4_095), 'c', '', 'd'.repeat(5_903)];
    for (const piece of pieces) assert.equal(gathered.add(Buffer.from(piece)), undefined);
    assert.equal(gathered.whole.toString(), pieces.join(''));
    assert.equal(gathered.add(Buffer.from('e')), 'bytes');
    assert.equal(gathered.whole.toString(), pieces.join(''));
  });

  it('has so many pieces, whatever is in them, and keeps none', () => {
    const gathered = new BodyBuffer({ bytes: 10_000, pieces: 3 });
    const piece = Buffer.from('x');
    assert.deepEqual([gathered.add(piece), gathered.add(piece), gathered.add(piece)], [undefined, undefined, undefined]);
    piece.write('y');
    assert.equal(gathered.whole.toString(), 'xxx');
    assert.equal(gathered.add(piece), 'pieces');
  });
});
