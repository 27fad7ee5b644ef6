import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { canLand, LANDING_BYTES, receive } from '../../../../src/router/memory/shared-read-buffer.ts';
import { LentChunks } from '../../../../src/router/memory/buffer-pool.ts';
import { until } from '../../kube/wait.ts';
import { Peer } from '../local/peers.ts';
import { listen } from '../local/two-sides.ts';

describe('a socket that is received', () => {
  it('lands, on this version of Node.js too', () => {
    assert.equal(canLand(), true);
  });

  it('brings what a server accepted it with, and its end', async (t) => {
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
    t.after(() => server.close());
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const client = new Peer(connect({ port: await listen(server), host: '127.0.0.1', allowHalfOpen: true }));
    t.after(() => client.socket.destroy());
    client.socket.write('before');
    const socket = await accepted;
    t.after(() => socket.destroy());
    let text = '';
    let ended = false;
    const memories = new Set<ArrayBufferLike>();
    receive(socket, (chunk) => {
      text += chunk.toString('latin1');
      memories.add(chunk.buffer);
    });
    socket.on('end', () => {
      ended = true;
    });
    await until('what was sent before', () => text === 'before');
    socket.write('answer');
    client.socket.end(' after');
    await until('the end', () => ended);
    assert.equal(text, 'before after');
    assert.equal(memories.size, 1);
    socket.end();
    await until('the client is closed', () => client.closed);
    assert.deepEqual([client.text, client.error], ['answer', undefined]);
  });

  it('brings first what had been read before', async (t) => {
    const server = createServer();
    t.after(() => server.close());
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const client = connect({ port: await listen(server), host: '127.0.0.1' });
    t.after(() => client.destroy());
    client.write('first');
    const socket = await accepted;
    t.after(() => socket.destroy());
    await until('it is read', () => socket.readableLength === 5);
    let text = '';
    receive(socket, (chunk) => {
      text += chunk.toString('latin1');
    });
    client.write(' second');
    await until('both', () => text.length === 12);
    assert.equal(text, 'first second');
  });
});

describe('lent chunks', () => {
  const filled = (byte: number, length: number): Buffer => Buffer.alloc(length, byte);

  it('are used again only when nobody holds them', () => {
    let held = 70_000;
    const lent = new LentChunks(() => held);
    const first = lent.copy(filled(1, 40_000));
    const second = lent.copy(filled(2, 30_000));
    assert.deepEqual([first[0], first[39_999], first.length, second[0], second.length], [1, 1, 40_000, 2, 30_000]);
    assert.notEqual(first.buffer, second.buffer);
    held = 0;
    const third = lent.copy(filled(3, 30_000));
    assert.ok(third.buffer === first.buffer || third.buffer === second.buffer);
    assert.equal(third[29_999], 3);
    assert.equal(lent.settle(), true);
  });

  it('come back one by one from an end that always holds something', () => {
    let held = 0;
    const lent = new LentChunks(() => held);
    const memories = new Set<ArrayBufferLike>();
    for (let round = 0; round < 100; round++) {
      const chunk = lent.copy(filled(round, 60_000));
      memories.add(chunk.buffer);
      held = 90_000;
    }
    assert.ok(memories.size <= 3, `${memories.size} buffers`);
    held = 0;
    assert.equal(lent.settle(), true);
  });

  it('are not used again while small ones that came later are all that is held, nor before', () => {
    let held = 0;
    const lent = new LentChunks(() => held);
    const large = lent.copy(filled(1, 60_000));
    held = 60_000;
    lent.copy(filled(2, 10));
    held = 11;
    assert.notEqual(lent.copy(filled(3, 60_000)).buffer, large.buffer);
    held = 60_010;
    assert.equal(lent.copy(filled(4, 60_000)).buffer, large.buffer);
    lent.forget();
  });

  it('share a buffer as long as it has room', () => {
    const lent = new LentChunks(() => undefined);
    const chunks = [1, 2, 3, 4].map((byte) => lent.copy(filled(byte, LANDING_BYTES / 4)));
    assert.equal(new Set(chunks.map(({ buffer }) => buffer)).size, 1);
    for (const [index, chunk] of chunks.entries())
      assert.equal(
        chunk.every((byte) => byte === index + 1),
        true,
      );
    assert.notEqual(lent.copy(filled(5, 3_000)).buffer, chunks[0]?.buffer);
    lent.forget();
  });

  it('are never short: beyond the common buffers each read gets its own memory', () => {
    const borrowers = Array.from({ length: 40 }, () => new LentChunks(() => undefined));
    const chunks = borrowers.flatMap((borrower, index) => [borrower.copy(filled(index, 60_000)), borrower.copy(filled(index, 60_000))]);
    for (const [index, chunk] of chunks.entries())
      assert.equal(
        chunk.every((byte) => byte === Math.floor(index / 2)),
        true,
      );
    for (const borrower of borrowers) borrower.forget();
  });
});
