import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { eventually } from '../../../harness/wait.ts';
import { dial, serve, type Peer, type TestServer } from './peers.ts';
import { freePort } from '../../support/free-port.ts';
import { connector, here, listener, oneSide, there, twoSides, EAST_ROUTER, WEST_ROUTER } from './two-sides.ts';

interface Path extends AsyncDisposable {
  readonly port: number;
}

/** Each way on which a connection may go must carry TCP alike. */
const ways: Readonly<Record<string, (server: TestServer) => Promise<Path>>> = {
  'within one router': async (server) => {
    const { local, routing } = oneSide();
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await eventually('the listener listens', () => local.state.listeners['Listener/key']?.listening);
    return { port, [Symbol.asyncDispose]: () => local[Symbol.asyncDispose]() };
  },
  'between two routers': async (server) => {
    const sides = await twoSides();
    const port = await freePort();
    sides.west.routing.byKey.set('key', [there(EAST_ROUTER)]);
    sides.east.local.apply([], [connector(server.port, 'key')]);
    sides.west.local.apply([listener(port, 'key')], []);
    await eventually('the listener listens', () => sides.west.local.state.listeners['Listener/key']?.listening);
    return { port, [Symbol.asyncDispose]: () => sides[Symbol.asyncDispose]() };
  },
};

const firstOf = (server: TestServer): Promise<Peer> => eventually('the server has a connection', () => server.peers[0]);
const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

for (const [way, make] of Object.entries(ways)) {
  describe(`a connection ${way}`, () => {
    it('brings all bytes both ways, in order, with the orderly end behind them', async () => {
      const up = randomBytes(3_000_000);
      const down = randomBytes(2_000_000);
      using server = await serve(({ socket }) => socket.end(down));
      await using path = await make(server);
      const client = dial(path.port);
      client.socket.end(up);
      await eventually('both ends have closed', () => client.closed && server.peers[0]?.closed);
      assert.equal(hash(Buffer.concat(client.chunks)), hash(down));
      assert.equal(hash(Buffer.concat(server.peers[0]?.chunks ?? [])), hash(up));
      assert.deepEqual([client.error, server.peers[0]?.error], [undefined, undefined]);
    });

    it('keeps the bytes of many connections apart, however fast each is read', async () => {
      using server = await serve(({ socket }) => socket.pipe(socket));
      await using path = await make(server);
      const sent = Array.from({ length: 12 }, (_unused, index) => Buffer.alloc(700_000, randomBytes(997 + index)));
      const clients = sent.map((bytes, index) => {
        const client = dial(path.port);
        client.socket.end(bytes);
        // Some do not read until all others are through.
        if (index % 4 === 0) client.socket.pause();
        return client;
      });
      const isSlow = (index: number): boolean => index % 4 === 0;
      await eventually('the fast ones have all', () => clients.every(({ ended }, index) => ended || isSlow(index)));
      for (const { socket } of clients) socket.resume();
      await eventually('the slow ones have all', () => clients.every(({ ended }) => ended));
      for (const [index, { chunks }] of clients.entries()) {
        assert.ok(Buffer.concat(chunks).equals(sent[index] ?? Buffer.alloc(0)), `connection ${index} has other bytes`);
      }
    });

    it('stays open towards the client after the client has ended', async () => {
      using server = await serve();
      await using path = await make(server);
      const client = dial(path.port);
      client.socket.end('question');
      const peer = await firstOf(server);
      await eventually('the question has ended', () => peer.ended);
      assert.equal(peer.text, 'question');
      peer.socket.write('answer');
      await eventually('the answer is there', () => client.text === 'answer');
      assert.equal(client.ended, false);
      peer.socket.end();
      await eventually('the client is closed', () => client.closed);
      assert.equal(client.error, undefined);
    });

    it('stays open towards the server after the server has ended', async () => {
      using server = await serve(({ socket }) => socket.end('greeting'));
      await using path = await make(server);
      const client = dial(path.port);
      await eventually('the greeting has ended', () => client.ended);
      client.socket.write('late');
      const peer = await firstOf(server);
      await eventually('what came late is there', () => peer.text === 'late');
      client.socket.end();
      await eventually('both are closed', () => client.closed && peer.closed);
      assert.deepEqual([client.text, client.error, peer.error], ['greeting', undefined, undefined]);
    });

    it("passes a client's reset on as a reset", async () => {
      using server = await serve();
      await using path = await make(server);
      const client = dial(path.port);
      client.socket.write('x');
      const peer = await firstOf(server);
      await eventually('the byte is there', () => peer.text === 'x');
      client.socket.resetAndDestroy();
      await eventually("the server's end is closed", () => peer.closed);
      assert.deepEqual([peer.error?.code, peer.ended], ['ECONNRESET', false]);
    });

    it("passes a server's reset on as a reset", async () => {
      using server = await serve(({ socket }) => socket.once('data', () => socket.resetAndDestroy()));
      await using path = await make(server);
      const client = dial(path.port);
      client.socket.write('x');
      await eventually('the client is closed', () => client.closed);
      assert.deepEqual([client.error?.code, client.ended], ['ECONNRESET', false]);
    });

    it('resets a client whose server refuses', async () => {
      const server = await serve(undefined, await freePort());
      await using path = await make(server);
      server[Symbol.dispose]();
      const client = dial(path.port);
      await eventually('the client is closed', () => client.closed);
      assert.deepEqual([client.error?.code, client.ended], ['ECONNRESET', false]);
    });

    it('stops a client whose server does not read, and goes on when it reads again', async () => {
      using server = await serve(({ socket }) => socket.pause());
      await using path = await make(server);
      const client = dial(path.port);
      const chunk = Buffer.alloc(64 * 1024, 'x');
      let sent = 0;
      let stalled = 0;
      const send = (): void => {
        while (client.socket.writableLength < 256 * 1024 && sent < 200 * 1024 * 1024) {
          client.socket.write(chunk);
          sent += chunk.length;
          stalled = 0;
        }
      };
      // Buffers of the kernel and of both routers fill; then the client gets nothing off any more.
      const isStopped = (): boolean => {
        send();
        stalled += 1;
        return stalled > 300;
      };
      await eventually('the client is stopped', isStopped, { everyMs: 1 });
      // The kernel's buffers on the way (three or four connections) may grow to 6 MB and 4 MB each.
      assert.ok(sent < 100 * 1024 * 1024, `the client could send ${sent} bytes`);
      client.socket.end();
      const peer = await firstOf(server);
      peer.socket.resume();
      await eventually('all has arrived', () => peer.ended);
      assert.equal(
        peer.chunks.reduce((sum, { length }) => sum + length, 0),
        sent,
      );
      peer.socket.end();
    });
  });
}
