import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { describe, it, mock } from 'node:test';
import type { StreamReset } from '../../../../src/http2/contract.ts';
import { SocketEndpoint } from '../../../../src/router/local/socket-endpoint.ts';
import { forgetStalled, watchStalled } from '../../../../src/router/local/stalled-sockets.ts';
import { ConnectionHalf } from '../../../../src/router/connection-half.ts';
import { eventually } from '../../../harness/wait.ts';
import { testAuthority } from '../support/certificates.ts';
import { listen } from './two-sides.ts';

// The interval is one for the process.
mock.timers.enable({ apis: ['setInterval'] });

const bundle = await (await testAuthority()).issue();

interface Far {
  readonly socket: Socket;
  /** Below TLS, or the same. */
  readonly raw: Socket;
}

interface Pair extends AsyncDisposable {
  readonly far: Far;
  readonly side: CountingSide;
  readonly gone: () => StreamReset | undefined;
}

class CountingSide extends ConnectionHalf {
  received = 0;

  override onData(chunk: Buffer): void {
    this.received += chunk.length;
    super.onData(chunk);
  }
}

/** A socket of the router, without a reader of its bytes. */
function held(near: Socket, raw: Socket): Pick<Pair, 'side' | 'gone'> {
  const side = new CountingSide();
  let gone: StreamReset | undefined;
  side.awaiting = {
    onResponse() {},
    onGone: (reason) => {
      gone = reason;
    },
  };
  side.end = new SocketEndpoint(near, raw, side);
  return { side, gone: () => gone };
}

const kinds: Readonly<Record<string, () => Promise<Pair>>> = {
  'a TCP socket': async () => {
    const server = createServer({ allowHalfOpen: true });
    const far = connect({ port: await listen(server), host: '127.0.0.1', allowHalfOpen: true });
    // What `connection` brings.
    const [near] = (await once(server, 'connection')) as [Socket];
    return { ...held(near, near), far: { socket: far, raw: far }, [Symbol.asyncDispose]: async () => close(server, near, far) };
  },
  'a TLS socket': async () => {
    const { cert, key } = bundle;
    const server = createTlsServer({ allowHalfOpen: true, ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) });
    const below = connect({ port: await listen(server), host: '127.0.0.1', allowHalfOpen: true });
    const far = connectTls({ socket: below, rejectUnauthorized: false });
    const raws = once(server, 'connection');
    // What these events bring.
    const [near] = (await once(server, 'secureConnection')) as [TLSSocket];
    const [raw] = (await raws) as [Socket];
    return { ...held(near, raw), far: { socket: far, raw: below }, [Symbol.asyncDispose]: async () => close(server, near, far, below) };
  },
};

function close(server: { close(): void }, ...sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
  server.close();
}

/** More than the router reads at once. */
const MANY = Buffer.alloc(500_000);

const vanishings: Readonly<Record<string, (far: Far) => void>> = {
  'resets, with bytes of it unread': ({ socket }) => socket.write(MANY),
  'has ended, and then resets, with bytes of it unread': ({ socket }) => socket.end(MANY),
  'has ended, and then resets': ({ socket }) => socket.end(),
};

for (const [kind, open] of Object.entries(kinds)) {
  describe(`${kind} that is not read`, () => {
    for (const [what, say] of Object.entries(vanishings)) {
      it(`is ended within seconds when its peer ${what}`, async () => {
        await using pair = await open();
        const { far, side } = pair;
        for (const socket of new Set([far.socket, far.raw])) socket.on('error', () => {});
        say(far);
        await eventually('the router stands still', () => side.received > 0 || side.ended);
        far.raw.resetAndDestroy();
        await eventually('it is noticed', () => {
          mock.timers.tick(1_000);
          return pair.gone() !== undefined;
        });
      });
    }

    it('is left alone while its peer is there', async () => {
      await using pair = await open();
      const { far, side } = pair;
      far.socket.end(MANY);
      await eventually('bytes have come', () => side.received > 0);
      for (let second = 0; second < 5; second += 1) {
        mock.timers.tick(1_000);
        await new Promise(setImmediate);
      }
      assert.equal(pair.gone(), undefined);
      side.end?.write(Buffer.from('an answer'));
      const [said] = await once(far.socket, 'data');
      assert.equal(String(said), 'an answer');
      side.drop();
      await eventually('all has come', () => side.ended);
      for (let second = 0; second < 5; second += 1) mock.timers.tick(1_000);
      side.end?.end();
      await eventually('the peer is closed', () => far.socket.closed);
      assert.equal(pair.gone(), undefined);
    });
  });
}

describe('thousands of sockets that are not read', () => {
  it('are looked at a few in one go, and each once in a round', async () => {
    const asked: number[] = [];
    const sockets = Array.from({ length: 2_000 }, (_, index) => ({ stalled: true, ask: () => void asked.push(index), broken() {} }));
    for (const socket of sockets) watchStalled(socket);
    mock.timers.tick(1_000);
    assert.ok(asked.length > 0 && asked.length <= 100, `${asked.length} in one go`);
    await eventually('all have been asked', () => asked.length >= sockets.length);
    assert.equal(new Set(asked).size, asked.length);
    for (const socket of sockets) forgetStalled(socket);
    mock.timers.tick(1_000);
    assert.equal(asked.length, sockets.length);
  });

  it('are looked at also where a look at one throws, which is ended', () => {
    let [asked, ended] = [0, 0];
    const broken = {
      get stalled(): boolean {
        throw new Error('a fault');
      },
      ask() {},
      broken: () => void (ended += 1),
    };
    const other = { stalled: true, ask: () => void (asked += 1), broken() {} };
    for (const socket of [broken, other]) watchStalled(socket);
    mock.timers.tick(1_000);
    assert.deepEqual([asked, ended], [1, 1]);
    for (const socket of [broken, other]) forgetStalled(socket);
    mock.timers.tick(1_000);
  });
});
