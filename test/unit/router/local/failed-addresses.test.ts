import assert from 'node:assert/strict';
import { createServer, type AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { connectAny, keepAlive, type TcpResult } from '../../../../src/router/local/connect.ts';
import { FailedAddresses } from '../../../../src/router/local/failed-addresses.ts';
import { hostNames } from '../../../../src/net/host-names.ts';

describe('addresses of a name', () => {
  const make = () => {
    const clock = { now: 0 };
    return { clock, failed: new FailedAddresses(() => clock.now) };
  };

  it('that failed come last for a minute, in their order', () => {
    const { clock, failed } = make();
    failed.failed('a', 80);
    failed.failed('c', 80);
    assert.deepEqual(failed.inOrder(['a', 'b', 'c', 'd'], 80), ['b', 'd', 'a', 'c']);
    assert.deepEqual(failed.inOrder(['a', 'b'], 81), ['a', 'b'], 'another port is another server');
    clock.now = 60_000;
    assert.deepEqual(failed.inOrder(['a', 'b', 'c', 'd'], 80), ['a', 'b', 'c', 'd']);
  });

  it('that work again come where they were', () => {
    const { failed } = make();
    failed.failed('a', 80);
    failed.worked('a', 80);
    assert.deepEqual(failed.inOrder(['a', 'b'], 80), ['a', 'b']);
  });

  it('are all tried where all have failed', () => {
    const { failed } = make();
    for (const address of ['a', 'b']) failed.failed(address, 80);
    assert.deepEqual(failed.inOrder(['a', 'b'], 80), ['a', 'b']);
  });

  it('that failed are remembered in a bounded number', () => {
    const { failed } = make();
    for (let number = 0; number < 2_000; number += 1) failed.failed(`a${number}`, 80);
    assert.deepEqual(failed.inOrder(['a0', 'a1999'], 80), ['a0', 'a1999']);
    assert.deepEqual(failed.inOrder(['a1999', 'a0'], 80), ['a0', 'a1999']);
  });
});

it('of a name with a dead address among good ones only the first connection tries the dead one first', async (t) => {
  const server = createServer((socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  t.mock.method(hostNames, 'resolve', (_: string, done: (addresses: readonly object[]) => void) => {
    // Nothing listens at the first.
    setImmediate(done, [
      { address: '127.77.0.1', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]);
    return () => {};
  });
  const tried: string[] = [];
  const { connect } = Socket.prototype;
  t.mock.method(Socket.prototype, 'connect', function (this: Socket, ...given: readonly [{ readonly host: string }]) {
    tried.push(given[0].host);
    return Reflect.apply(connect, this, given);
  });
  for (let count = 0; count < 3; count += 1) {
    const { promise, resolve } = Promise.withResolvers<TcpResult>();
    connectAny({ host: 'name.example', port }, resolve);
    const result = await promise;
    assert.equal(result.kind, 'connected');
    if (result.kind === 'connected') result.socket.destroy();
  }
  assert.deepEqual(tried, ['127.77.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1']);
});

it('the failure of a name reads the same, whichever of its dead addresses is tried first', async (t) => {
  let addresses = ['127.77.0.1', '127.77.0.2', '127.77.0.3'];
  t.mock.method(hostNames, 'resolve', (_: string, done: (found: readonly object[]) => void) => {
    setImmediate(
      done,
      addresses.map((address) => ({ address, family: 4 })),
    );
    return () => {};
  });
  const messages = new Set<string>();
  for (let count = 0; count < 6; count += 1) {
    const { promise, resolve } = Promise.withResolvers<TcpResult>();
    connectAny({ host: 'dead.example', port: 1 }, resolve);
    const result = await promise;
    messages.add(result.kind === 'failed' ? result.failure.message : 'connected');
    addresses = [...addresses.slice(1), ...addresses.slice(0, 1)];
  }
  assert.deepEqual(
    [...messages],
    ['Connection refused: nothing is listening at 127.77.0.1:1 (dead.example). Its other addresses failed too.'],
  );
});

it('a client or server that is idle is asked for life so rarely that a pause of 10 s ends nothing', (t) => {
  const socket = new Socket();
  const { mock } = t.mock.method(socket, 'setKeepAlive', () => socket);
  keepAlive(socket);
  const [isOn, , every = 0, count = 0] = mock.calls[0]?.arguments ?? [];
  assert.equal(isOn, true);
  // The first probe may be lost at the begin of a pause; the last one is given up after another interval.
  assert.ok(every * (count - 1) >= 25_000, `${every} ms, ${count} times`);
});
