import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { commonFailure, connectAny, interleaved } from '../../../../src/router/local/connect.ts';

const of = (...addresses: readonly string[]) => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('the order of addresses', () => {
  const table: readonly (readonly [readonly string[], readonly string[]])[] = [
    [
      ['::1', '::2', '1.1.1.1', '2.2.2.2'],
      ['::1', '1.1.1.1', '::2', '2.2.2.2'],
    ],
    [
      ['1.1.1.1', '::1', '::2', '::3'],
      ['1.1.1.1', '::1', '::2', '::3'],
    ],
    [
      ['1.1.1.1', '2.2.2.2', '::1'],
      ['1.1.1.1', '::1', '2.2.2.2'],
    ],
    [['1.1.1.1'], ['1.1.1.1']],
    [[], []],
  ];
  for (const [given, expected] of table) {
    it(`alternates between families: ${given.join(', ') || 'none'}`, () => {
      assert.deepEqual(interleaved(of(...given)), expected);
    });
  }
});

describe('the failure of a server with several addresses', () => {
  const refused = { address: '10.0.0.2', failure: { code: 'refused', message: 'Connection refused: 10.0.0.2.' } } as const;
  const other = { address: '10.0.0.1', failure: { code: 'refused', message: 'Connection refused: 10.0.0.1.' } } as const;
  const noRoute = { address: '::1', failure: { code: 'unreachable', message: 'Unreachable: ::1.' } } as const;

  it('is the same in whatever order they were tried', () => {
    for (const order of [
      [refused, other, noRoute],
      [noRoute, refused, other],
      [other, noRoute, refused],
      [refused, noRoute, other],
    ]) {
      assert.deepEqual(commonFailure(order), { code: 'refused', message: 'Connection refused: 10.0.0.1. Its other addresses failed too.' });
    }
  });

  it('of one address is its own', () => {
    assert.equal(commonFailure([noRoute]), noRoute.failure);
  });
});

it('ends the socket of a connection whose handler throws', async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  // `listen` with a port gives an address of IP.
  const { port } = server.address() as AddressInfo;
  const connected = Promise.withResolvers<Socket>();
  connectAny({ host: '127.0.0.1', port }, (result) => {
    if (result.kind === 'connected') connected.resolve(result.socket);
    throw new Error('unexpected');
  });
  const socket = await connected.promise;
  t.after(() => socket.destroy());
  assert.ok(socket.destroyed);
});
