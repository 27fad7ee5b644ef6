import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { DirectSocket, takeOver } from '../../../../src/router/local/direct-socket.ts';
import { landing, LentChunks } from '../../../../src/router/local/lent-chunks.ts';
import { until } from '../../kube/wait.ts';
import { Peer } from './peers.ts';
import { listen } from './two-sides.ts';

describe('a direct socket', () => {
  it('takes over what a server accepted, on this version of Node.js too', async () => {
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const client = new Peer(connect({ port: await listen(server), host: '127.0.0.1', allowHalfOpen: true }));
    client.socket.write('before');
    const socket = takeOver(await accepted);
    assert.ok(socket instanceof DirectSocket);
    let text = '';
    let ended = false;
    socket.onLanded = (length) => {
      text += landing.toString('latin1', 0, length);
    };
    socket.on('end', () => {
      ended = true;
    });
    socket.resume();
    await until('what was sent before', () => text === 'before');
    socket.write('answer');
    client.socket.end(' after');
    await until('the end', () => ended);
    assert.equal(text, 'before after');
    socket.end();
    await until('the client is closed', () => client.closed);
    assert.deepEqual([client.text, client.error], ['answer', undefined]);
    server.close();
  });
});

describe('lent chunks', () => {
  const filled = (byte: number): void => {
    landing.fill(byte);
  };

  it('are used again only when nobody holds them', () => {
    let passedOn = false;
    const lent = new LentChunks(() => passedOn);
    filled(1);
    const first = lent.copyLanded(10_000);
    filled(2);
    const second = lent.copyLanded(20_000);
    assert.deepEqual([first[0], first.length, second[0], second.length], [1, 10_000, 2, 20_000]);
    passedOn = true;
    filled(3);
    const third = lent.copyLanded(30_000);
    assert.ok(third.buffer === first.buffer || third.buffer === second.buffer);
    assert.equal(third[29_999], 3);
    assert.equal(lent.settle(), true);
  });

  it('are never short: beyond the common buffers each read gets its own memory', () => {
    const borrowers = Array.from({ length: 40 }, () => new LentChunks(() => false));
    const chunks = borrowers.flatMap((borrower, index) => {
      filled(index);
      return [borrower.copyLanded(5_000), borrower.copyLanded(5_000)];
    });
    for (const [index, chunk] of chunks.entries()) assert.equal(chunk.every((byte) => byte === Math.floor(index / 2)), true);
    for (const borrower of borrowers) borrower.forget();
  });
});
