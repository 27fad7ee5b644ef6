import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PooledChunks } from '../../../src/memory/buffer-pool.ts';
import { READ_BUFFER_BYTES } from '../../../src/net/shared-read-buffer.ts';

describe('chunks of the pool', () => {
  const filled = (byte: number, length: number): Buffer => Buffer.alloc(length, byte);

  it('are reused only once they have no holder', () => {
    let held = 70_000;
    const chunks = new PooledChunks(() => held);
    const first = chunks.copy(filled(1, 40_000));
    const second = chunks.copy(filled(2, 30_000));
    assert.deepEqual([first[0], first[39_999], first.length, second[0], second.length], [1, 1, 40_000, 2, 30_000]);
    assert.notEqual(first.buffer, second.buffer);
    held = 0;
    const third = chunks.copy(filled(3, 30_000));
    assert.ok(third.buffer === first.buffer || third.buffer === second.buffer);
    assert.equal(third[29_999], 3);
    assert.equal(chunks.reclaim(), true);
  });

  it('come back one by one from an end that always holds something', () => {
    let held = 0;
    const chunks = new PooledChunks(() => held);
    const memories = new Set<ArrayBufferLike>();
    for (let round = 0; round < 100; round++) {
      const chunk = chunks.copy(filled(round, 60_000));
      memories.add(chunk.buffer);
      held = 90_000;
    }
    assert.ok(memories.size <= 3, `${memories.size} buffers`);
    held = 0;
    assert.equal(chunks.reclaim(), true);
  });

  it('are not used again while small ones that came later are all that is held, nor before', () => {
    let held = 0;
    const chunks = new PooledChunks(() => held);
    const large = chunks.copy(filled(1, 60_000));
    held = 60_000;
    chunks.copy(filled(2, 10));
    held = 11;
    assert.notEqual(chunks.copy(filled(3, 60_000)).buffer, large.buffer);
    held = 60_010;
    assert.equal(chunks.copy(filled(4, 60_000)).buffer, large.buffer);
    chunks.forget();
  });

  it('share a buffer as long as it has room', () => {
    const chunks = new PooledChunks(() => undefined);
    const copies = [1, 2, 3, 4].map((byte) => chunks.copy(filled(byte, READ_BUFFER_BYTES / 4)));
    assert.equal(new Set(copies.map(({ buffer }) => buffer)).size, 1);
    for (const [index, chunk] of copies.entries())
      assert.equal(
        chunk.every((byte) => byte === index + 1),
        true,
      );
    assert.notEqual(chunks.copy(filled(5, 3_000)).buffer, copies[0]?.buffer);
    chunks.forget();
  });

  it('keep little else alive where they are short, whatever else is copied meanwhile', () => {
    const [slow, other] = [new PooledChunks(() => undefined), new PooledChunks(() => 0)];
    const kept = [1, 100, 1_024].map((length) => {
      const chunk = slow.copy(filled(length % 256, length));
      for (let left = 100; left > 0; left -= 1) other.copy(filled(7, 1_000));
      return chunk;
    });
    assert.deepEqual(
      kept.map((chunk) => [chunk.length, chunk.every((byte) => byte === chunk.length % 256), chunk.buffer.byteLength <= 4_096]),
      [1, 100, 1_024].map((length) => [length, true, true]),
    );
  });

  it('are never short: beyond the common buffers each read gets its own memory', () => {
    const borrowers = Array.from({ length: 40 }, () => new PooledChunks(() => undefined));
    const chunks = borrowers.flatMap((borrower, index) => [borrower.copy(filled(index, 60_000)), borrower.copy(filled(index, 60_000))]);
    for (const [index, chunk] of chunks.entries())
      assert.equal(
        chunk.every((byte) => byte === Math.floor(index / 2)),
        true,
      );
    for (const borrower of borrowers) borrower.forget();
  });
});
