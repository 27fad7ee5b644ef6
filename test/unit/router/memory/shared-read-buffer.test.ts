import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { canShareReads, receive } from '../../../../src/router/memory/shared-read-buffer.ts';
import { eventually } from '../../../harness/wait.ts';
import { Peer } from '../local/peers.ts';
import { listen } from '../local/two-sides.ts';

describe('a socket that is received', () => {
  it('reads into the shared buffer, on this version of Node.js too', () => {
    assert.equal(canShareReads(), true);
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
    await eventually('what was sent before', () => text === 'before');
    socket.write('answer');
    client.socket.end(' after');
    await eventually('the end', () => ended);
    assert.equal(text, 'before after');
    assert.equal(memories.size, 1);
    socket.end();
    await eventually('the client is closed', () => client.closed);
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
    await eventually('it is read', () => socket.readableLength === 5);
    let text = '';
    receive(socket, (chunk) => {
      text += chunk.toString('latin1');
    });
    client.write(' second');
    await eventually('both', () => text.length === 12);
    assert.equal(text, 'first second');
  });
});
