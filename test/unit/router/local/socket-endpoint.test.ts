import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { SocketEndpoint } from '../../../../src/router/local/socket-endpoint.ts';
import { TLS_FEED_COST } from '../../../../src/memory/costs.ts';
import { ConnectionHalf } from '../../../../src/router/connection-half.ts';
import { eventually } from '../../../harness/wait.ts';
import { testAuthority } from '../support/certificates.ts';
import { listen } from './two-sides.ts';

/** An end whose peer does not read yet, with so much before that the kernel takes no more. */
async function stuck(): Promise<{
  readonly end: SocketEndpoint;
  readonly peer: Socket;
  readonly drains: () => number;
  readonly before: number;
}> {
  const server = createServer();
  const port = await listen(server);
  const [accepted, peer] = await Promise.all([once(server, 'connection'), Promise.resolve(connect({ port, host: '127.0.0.1' }).pause())]);
  server.close();
  const socket = accepted[0] as Socket;
  const side = new ConnectionHalf();
  let drained = 0;
  side.onDrain = () => void (drained += 1);
  const end = new SocketEndpoint(socket, socket, side);
  const chunk = Buffer.alloc(1 << 20, '-');
  let before = 0;
  do {
    end.write(chunk);
    before += chunk.length;
    await setImmediate();
  } while (end.queued === 0);
  return { end, peer, drains: () => drained, before };
}

test('single bytes that wait for a slow client cost about their size, and arrive in order', async () => {
  const { end, peer, drains, before } = await stuck();
  const [queued, held] = [end.queued, end.held];
  const text = Array.from({ length: 50_000 }, (_unused, index) => String.fromCharCode(97 + (index % 26))).join('');
  for (const letter of text) end.write(Buffer.from(letter));
  assert.equal(end.queued - queued, text.length);
  assert.ok(end.held - held < 1.5 * text.length, `${end.held - held} bytes for ${text.length}`);
  // Large ones do not overtake them.
  const large = Buffer.alloc(100_000, 'L');
  assert.equal(end.write(large), false);
  end.write(Buffer.from('!'));
  const drainsBefore = drains();
  const came: Buffer[] = [];
  peer.on('data', (bytes: Buffer) => came.push(bytes)).resume();
  await eventually('it may write again', () => drains() > drainsBefore && end.queued === 0);
  // The end comes behind what still waits.
  for (const letter of text) end.write(Buffer.from(letter));
  end.end();
  await once(peer, 'end');
  assert.ok(
    Buffer.concat(came)
      .subarray(before)
      .equals(Buffer.from(`${text}${large.toString()}!${text}`)),
  );
  peer.destroy();
});

test('a socket that is reset right after its end is closed, and its peer is notified', async (t) => {
  const server = createServer({ allowHalfOpen: true });
  t.after(() => server.close());
  const port = await listen(server);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [peer] = (await once(server, 'connection')) as [Socket];
  peer.resume();
  const end = new SocketEndpoint(socket, socket, new ConnectionHalf());
  end.end();
  end.reset();
  await once(socket, 'close');
  // The first write after a mere close of the peer succeeds.
  const refused = once(peer, 'error');
  peer.write('more');
  assert.equal(((await refused) as [NodeJS.ErrnoException])[0].code, 'EPIPE');
});

/** A client's end over TLS; the server's, and what is below that. */
async function overTls(
  t: TestContext,
): Promise<{ readonly socket: Socket; readonly raw: Socket; readonly peer: Socket; readonly below: Socket }> {
  const { cert, key, ca } = await (await testAuthority()).issue();
  const server = createTlsServer({ cert, key, allowHalfOpen: true });
  t.after(() => server.close());
  const port = await listen(server);
  const met = once(server, 'connection');
  const raw = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const socket = connectTls({ socket: raw, ca, checkServerIdentity: () => undefined });
  const [[peer]] = (await Promise.all([once(server, 'secureConnection'), once(socket, 'secureConnect')])) as [[Socket], unknown];
  const [below] = (await met) as [Socket];
  for (const each of [peer, below]) each.on('error', () => {});
  peer.resume();
  // OpenSSL is still at work on the end of the handshake: it must not be freed within.
  await setImmediate();
  return { socket, raw, peer, below };
}

test('over TLS, too', async (t) => {
  const { socket, raw, peer } = await overTls(t);
  const end = new SocketEndpoint(socket, raw, new ConnectionHalf());
  end.end();
  end.reset();
  await eventually('both ends to be closed', () => raw.closed && peer.closed);
});

test('over TLS the peer is notified even if its own end is on its way already', async (t) => {
  const { socket, raw, peer } = await overTls(t);
  const side = new ConnectionHalf();
  const heard = new Promise<void>((resolve) => {
    side.onData = () => resolve();
  });
  const end = new SocketEndpoint(socket, raw, side);
  // With what was not read yet, as tickets, the kernel would make a reset of each end.
  peer.write('hello');
  await heard;
  end.end();
  // Its peer has been asked: the end leaves with this turn of the event loop.
  await new Promise<void>((resolve) => void process.nextTick(resolve));
  assert.deepEqual([socket.writableEnded, socket.writableFinished], [true, false]);
  end.reset();
  await eventually('the own end to be closed', () => socket.closed && raw.closed);
  // The first write after a mere close of the peer succeeds.
  const refused = await new Promise<Error | null | undefined>((resolve) => void peer.write('more', resolve));
  assert.equal((refused as NodeJS.ErrnoException | null | undefined)?.code, 'EPIPE');
});

test('over TLS an end that has to wait for its peer is not waited for by a reset', async (t) => {
  const { socket, raw, peer } = await overTls(t);
  // As where the kernel has no room for the last word.
  socket._final = () => {};
  const end = new SocketEndpoint(socket, raw, new ConnectionHalf());
  end.end();
  await new Promise<void>((resolve) => void process.nextTick(resolve));
  end.reset();
  await eventually('both ends to be over', () => socket.closed && raw.closed && (peer.readableEnded || peer.closed));
});

test('over TLS a peer that has reset is not taken for one that has ended, where its reset is not read before the own end', async (t) => {
  const { socket, raw, peer, below } = await overTls(t);
  const side = new ConnectionHalf();
  const told: string[] = [];
  side.onEnd = () => void told.push('end');
  side.onClosed = () => void told.push('closed');
  side.onReset = () => void told.push('reset');
  const end = new SocketEndpoint(socket, raw, side);
  below.resetAndDestroy();
  peer.destroy();
  end.end();
  await eventually('it to be over', () => socket.closed);
  assert.deepEqual(told, ['reset']);
});

test('over TLS what has come counts, as far as OpenSSL may have filled its input with it', async (t) => {
  const { socket, raw, peer } = await overTls(t);
  const side = new ConnectionHalf();
  let came = 0;
  side.onData = (chunk) => void (came += chunk.length);
  const end = new SocketEndpoint(socket, raw, side);
  const idle = end.held;
  for (const [bytes, counted] of [
    [100, 100],
    [200_000, TLS_FEED_COST],
  ] as const) {
    const all = came + bytes;
    peer.write(Buffer.alloc(bytes, 'x'));
    await eventually('all to have come', () => {
      end.consumed(came);
      return came === all;
    });
    assert.equal(end.held - idle, counted);
  }
  end.reset();
});

test('an end that came before anybody listened is heard', async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).end());
  t.after(() => server.close());
  const socket = connect({ port: await listen(server), host: '127.0.0.1', allowHalfOpen: true });
  await once(socket.resume(), 'end');
  const side = new ConnectionHalf();
  const heard = new Promise<void>((resolve) => {
    side.onEnd = resolve;
  });
  const end = new SocketEndpoint(socket, socket, side);
  await heard;
  end.reset();
});

test('a few small pieces go at once, and many in one turn go together', async (t) => {
  const server = createServer();
  const port = await listen(server);
  const [accepted, peer] = await Promise.all([once(server, 'connection'), Promise.resolve(connect({ port, host: '127.0.0.1' }))]);
  server.close();
  const socket = accepted[0] as Socket;
  t.after(() => {
    socket.destroy();
    peer.destroy();
  });
  const end = new SocketEndpoint(socket, socket, new ConnectionHalf());
  end.write(Buffer.from('a'));
  assert.equal(socket.writableCorked, 0);
  for (let pieces = 0; pieces < 100; pieces += 1) end.write(Buffer.from('b'));
  assert.equal(socket.writableCorked, 1);
  await setImmediate();
  assert.equal(socket.writableCorked, 0);
  end.end();
  let came = '';
  for await (const chunk of peer) came += String(chunk);
  assert.equal(came, `a${'b'.repeat(100)}`);
});
