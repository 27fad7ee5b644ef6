import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import type { ListenerState } from '../../../../src/router/contract.ts';
import type { LocalSide } from '../../../../src/router/local/local-side.ts';
import { eventually } from '../../../harness/wait.ts';
import { dial, serve } from './peers.ts';
import { COST } from '../../../../src/memory/costs.ts';
import { freePort } from '../../support/free-port.ts';
import { memoryOf } from '../support/memory.ts';
import { connector, EAST, EAST_ROUTER, here, listen, listener, oneSide, there, twoSides, WEST_ROUTER } from './two-sides.ts';

const stateOf = (local: LocalSide, key = 'key'): ListenerState | undefined => local.state.listeners[`Listener/${key}`];
const listening = (local: LocalSide, key = 'key') => eventually(`${key} listens`, () => stateOf(local, key)?.listening);
const problem = (local: LocalSide, code: string, key = 'key') =>
  eventually(`problem ${code}`, () => (stateOf(local, key)?.problem?.code === code ? stateOf(local, key)?.problem : undefined));

async function refused(port: number): Promise<boolean> {
  const peer = dial(port);
  await eventually('the attempt has ended', () => peer.closed || peer.socket.readyState === 'open');
  peer.socket.destroy();
  return peer.error?.code === 'ECONNREFUSED';
}

/** A connection that has reached the server and can go on. */
async function connected(port: number) {
  const peer = dial(port);
  peer.socket.write('a');
  await eventually('the echo', () => peer.text === 'a');
  return peer;
}

/** So many clients, and one that is closed. */
async function atMost(count: number, port: number) {
  const open = [];
  while (open.length < count) open.push(await connected(port));
  const beyond = dial(port);
  await eventually('one more is closed', () => beyond.closed);
  return open;
}

const echo = () => serve(({ socket }) => socket.pipe(socket));

describe('a listener', () => {
  it('refuses while its key cannot be reached, and connections that were made go on', async () => {
    using server = await echo();
    const { local, routing } = oneSide();
    await using _ = local;
    const port = await freePort();
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    assert.equal(await refused(port), true);
    assert.deepEqual(stateOf(local), { listening: false, reachableKeys: [] });

    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.routingChanged();
    await listening(local);
    assert.deepEqual(stateOf(local)?.reachableKeys, ['key']);
    const client = await connected(port);

    routing.byKey.delete('key');
    local.routingChanged();
    await eventually('the port is closed', () => stateOf(local)?.listening === false);
    assert.equal(await refused(port), true);
    client.socket.write('b');
    await eventually('the connection goes on', () => client.text === 'ab');
    client.socket.destroy();
  });

  it('keeps its port while another destination replaces its last one, and connects clients that came in between', async () => {
    using server = await echo();
    const { local, routing } = oneSide(WEST_ROUTER, { limits: { linger: 60_000 } });
    await using _ = local;
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await listening(local);
    routing.byKey.delete('key');
    local.routingChanged();
    assert.deepEqual(stateOf(local), { listening: true, reachableKeys: [] });
    const client = dial(port);
    client.socket.write('a');
    await eventually('the client has come', () => local.openConnections === 1);
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.routingChanged();
    await eventually('the echo', () => client.text === 'a');
    client.socket.destroy();
  });

  it('resets a client for which no destination appears within a second', async () => {
    const { local, routing } = oneSide(WEST_ROUTER, { limits: { linger: 60_000 } });
    await using _ = local;
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], []);
    await listening(local);
    routing.byKey.delete('key');
    local.routingChanged();
    const client = dial(port);
    await eventually('the client is reset', () => client.closed);
    assert.equal(client.error?.code, 'ECONNRESET');
  });

  it('closes its port when no destination returns, and opens it for a later one', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    const port = await freePort();
    local.apply([listener(port, 'key')], []);
    for (let round = 0; round < 3; round += 1) {
      routing.byKey.set('key', [here(WEST_ROUTER)]);
      local.routingChanged();
      await listening(local);
      routing.byKey.delete('key');
      local.routingChanged();
      await eventually('the port is closed', () => stateOf(local)?.listening === false);
      assert.equal(await refused(port), true);
    }
  });

  it('says whose servers took no connection, until one does, however often that changes', async () => {
    await using sides = await twoSides();
    const { west, east } = sides;
    const [port, closed] = [await freePort(), await freePort()];
    const name = listener(port, 'key').name;
    east.routing.byKey.set('key', [here(EAST_ROUTER)]);
    west.routing.byKey.set('key', [there(EAST_ROUTER)]);
    east.local.apply([], [connector(closed, 'key')]);
    west.local.apply([listener(port, 'key')], []);
    await listening(west.local);
    let told = 0;
    west.local.onChange(() => void (told += 1));
    for (let tries = 0; tries < 3; tries += 1) {
      const client = dial(port);
      await eventually('the client is turned away', () => client.socket.destroyed);
    }
    await eventually('the refusal is reported', () => west.local.state.listeners[name]?.refusedBy !== undefined);
    assert.deepEqual(west.local.state.listeners[name]?.refusedBy, [EAST]);
    assert.equal(told, 1);
    using _server = await serve(({ socket }) => socket.pipe(socket), closed);
    await eventually('a connection goes through', async () => {
      const client = dial(port);
      client.socket.write('a');
      await eventually('an answer, or none', () => client.text === 'a' || client.socket.destroyed);
      client.socket.destroy();
      return client.text === 'a';
    });
    await eventually('it is taken back', () => west.local.state.listeners[name]?.refusedBy === undefined);
  });

  it('says that all its servers fail where their router announces it, and not what clients saw before that', async () => {
    const { local, routing } = oneSide(WEST_ROUTER);
    await using _ = local;
    const port = await freePort();
    const health = (failing: boolean): void => {
      routing.byKey.set('key', [{ ...there(EAST_ROUTER), failing }]);
      local.routingChanged();
    };
    health(true);
    local.apply([listener(port, 'key')], []);
    await listening(local);
    assert.deepEqual(stateOf(local)?.refusedBy, [EAST]);
    const client = dial(port);
    await eventually('a client is turned away all the same', () => client.socket.destroyed);
    health(false);
    assert.equal(stateOf(local)?.refusedBy, undefined);
  });

  for (const [what, announced] of [
    ['announces nothing of its servers', undefined],
    ['announces that its servers work', false],
    ['announces that its servers fail', true],
  ] as const)
    it(`reports a router that refuses its connections and ${what}, until it is gone or announces a recovery`, async () => {
      await using sides = await twoSides();
      const { local, routing } = sides.west;
      const [port, closed] = [await freePort(), await freePort()];
      sides.east.routing.byKey.set('key', [here(EAST_ROUTER)]);
      sides.east.local.apply([], [connector(closed, 'key')]);
      const announce = (failing?: boolean): void => {
        routing.byKey.set('key', [{ ...there(EAST_ROUTER), ...(failing === undefined ? {} : { failing }) }]);
        local.routingChanged();
      };
      const withdraw = (): void => {
        routing.byKey.delete('key');
        local.routingChanged();
      };
      const recover = (): void => {
        announce(true);
        announce(false);
      };
      local.apply([listener(port, 'key')], []);
      for (const end of [withdraw, recover]) {
        announce(announced);
        await listening(local);
        const client = dial(port);
        await eventually('the client is turned away', () => client.socket.destroyed);
        await eventually('it is reported', () => stateOf(local)?.refusedBy !== undefined);
        local.routingChanged();
        assert.deepEqual(stateOf(local)?.refusedBy, [EAST], 'another change of routing is not a recovery');
        end();
        announce(false);
        assert.equal(stateOf(local)?.refusedBy, undefined);
      }
    });

  it('prefers a destination whose servers work, and tries the others nevertheless', async () => {
    using server = await serve(({ socket }) => socket.write('here'));
    const { local, routing } = oneSide(WEST_ROUTER);
    await using _ = local;
    const port = await freePort();
    routing.byKey.set('key', [
      { ...there(EAST_ROUTER, 1), failing: true },
      { ...here(WEST_ROUTER), cost: 5 },
    ]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await listening(local);
    const client = dial(port);
    await eventually('the one that works has it', () => client.text === 'here');
    client.socket.destroy();
  });

  it('reports that its port is taken and by which process, and takes it when it is free', async () => {
    using server = await echo();
    const other = createServer();
    const port = await listen(other, await freePort());
    const { local, routing } = oneSide(WEST_ROUTER, { portOwner: () => 'thief (pid 7)' });
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    assert.match((await problem(local, 'port-in-use')).message, new RegExp(`127.0.0.1:${port} is in use by thief \\(pid 7\\)`));
    other.close();
    await listening(local);
    assert.equal(stateOf(local)?.problem, undefined);
    (await connected(port)).socket.destroy();
  });

  it('does not advise to stop this program if another part of the site has the port', async () => {
    const other = createServer();
    const port = await listen(other, await freePort());
    const { local } = oneSide(WEST_ROUTER, { portOwner: () => `earshot (pid ${process.pid})` });
    await using _ = local;
    local.apply([listener(port, 'key')], []);
    const { message } = await problem(local, 'port-in-use');
    other.close();
    assert.equal(
      message,
      `The port of 127.0.0.1:${port} is in use by this site itself, for another Listener, links or tokens. Choose another port.`,
    );
  });

  it('reports that its port is taken and by which process before a connector exists, and leaves the port alone', async () => {
    const other = createServer();
    const port = await listen(other, await freePort());
    const { local, routing } = oneSide(WEST_ROUTER, { portOwner: () => 'thief (pid 7)' });
    await using _ = local;
    local.apply([listener(port, 'key'), listener(await freePort(), 'free')], []);
    const expected = {
      code: 'port-in-use',
      message: `The port of 127.0.0.1:${port} is in use by thief (pid 7). Stop it or choose another port.`,
    };
    assert.deepEqual(stateOf(local)?.problem, expected);
    assert.equal(stateOf(local, 'free')?.problem, undefined);
    other.close();
    await eventually('the port is free', () => stateOf(local)?.problem === undefined);
    const later = createServer();
    await listen(later, port);
    await eventually('the port is taken again', () => stateOf(local)?.problem !== undefined);
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.routingChanged();
    assert.deepEqual(await problem(local, 'port-in-use'), expected);
    later.close();
    await listening(local);
    routing.byKey.delete('key');
    local.routingChanged();
    assert.equal(stateOf(local)?.problem, undefined, 'its own socket is closed');
  });

  it('allows another router of the site to have its port while it waits for a connector, if they share ports', async () => {
    const port = await freePort();
    const [first, second] = [oneSide(), oneSide()];
    first.routing.byKey.set('key', [here(WEST_ROUTER)]);
    first.local.apply([listener(port, 'key')], [], true);
    await listening(first.local);
    second.local.apply([listener(port, 'key')], [], true);
    assert.equal(stateOf(second.local)?.problem, undefined);
    for (const { local } of [first, second]) await local[Symbol.asyncDispose]();
  });

  it('without a host listens at all addresses', async () => {
    using server = await echo();
    const { local, routing } = oneSide();
    await using _ = local;
    const { host: _host, ...everywhere } = listener(await freePort(), 'key');
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([everywhere], [connector(server.port, 'key')]);
    await listening(local);
    assert.equal(stateOf(local)?.problem, undefined);
    for (const host of ['127.0.0.1', '127.0.0.2']) {
      const socket = connect({ host, port: everywhere.port });
      await eventually(`a connection to ${host}`, () => socket.readyState === 'open');
      socket.destroy();
    }
  });

  it('shares its place with another router only where that is wanted', async () => {
    const port = await freePort();
    const routers = [oneSide(), oneSide()];
    const [first, second] = routers;
    assert.ok(first !== undefined && second !== undefined);
    for (const { routing } of routers) routing.byKey.set('key', [here(WEST_ROUTER)]);
    first.local.apply([listener(port, 'key')], []);
    await listening(first.local);
    second.local.apply([listener(port, 'key')], []);
    await problem(second.local, 'port-in-use');
    for (const { local } of routers) local.apply([listener(port, 'key')], [], true);
    for (const { local } of routers) await listening(local);
    for (const { local } of routers) await local[Symbol.asyncDispose]();
  });

  it('leaves a place to the listener that has it first', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    const port = await freePort();
    for (const key of ['one', 'two']) routing.byKey.set(key, [here(WEST_ROUTER)]);
    local.apply([listener(port, 'one'), listener(port, 'two')], []);
    await listening(local, 'one');
    assert.match((await problem(local, 'port-in-use', 'two')).message, /Listener\/one already has 127\.0\.0\.1:\d+/);
    assert.equal(stateOf(local, 'one')?.problem, undefined);
    local.apply([listener(port, 'two')], []);
    await listening(local, 'two');
  });

  it('says that a host is not one of this machine', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    // TEST-NET-1 (RFC 5737).
    local.apply([listener(await freePort(), 'key', { host: '192.0.2.1' })], []);
    assert.match((await problem(local, 'host-not-local')).message, /"192\.0\.2\.1" is not an address of this machine/);
  });

  it('says that a host has no address', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(await freePort(), 'key', { host: 'no-such-host.invalid' })], []);
    await problem(local, 'name-unknown');
    local.apply([listener(await freePort(), 'key', { host: 'localhost' })], []);
    await listening(local);
    assert.equal(stateOf(local)?.problem, undefined);
  });

  it('changes port and key while connections go on', async () => {
    using first = await serve(({ socket }) => socket.write('1'));
    using second = await serve(({ socket }) => socket.write('2'));
    const { local, routing } = oneSide();
    await using _ = local;
    const connectors = [connector(first.port, 'one'), connector(second.port, 'two')];
    for (const key of ['one', 'two']) routing.byKey.set(key, [here(WEST_ROUTER)]);
    const [port, other] = [await freePort(), await freePort()];
    local.apply([listener(port, 'one', { name: 'Listener/key' })], connectors);
    await listening(local);
    const before = dial(port);
    await eventually('the first server is there', () => before.text === '1');

    local.apply([listener(port, 'two', { name: 'Listener/key' })], connectors);
    const after = dial(port);
    await eventually('the second server is there', () => after.text === '2');

    local.apply([listener(other, 'two', { name: 'Listener/key' })], connectors);
    await listening(local);
    assert.equal(await refused(port), true);
    before.socket.write('still here');
    await eventually('the first connection goes on', () => first.peers[0]?.text === 'still here');
    before.socket.destroy();
    after.socket.destroy();
  });

  it('lets two listeners swap their ports', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    for (const key of ['one', 'two']) routing.byKey.set(key, [here(WEST_ROUTER)]);
    const [a, b] = [await freePort(), await freePort()];
    local.apply([listener(a, 'one'), listener(b, 'two')], []);
    for (const key of ['one', 'two']) await listening(local, key);
    local.apply([listener(b, 'one'), listener(a, 'two')], []);
    for (const key of ['one', 'two']) await listening(local, key);
  });

  it('reports its keys, and its changes once per event-loop iteration', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    let changes = 0;
    const end = local.onChange(() => {
      changes += 1;
    });
    local.apply([listener(await freePort(), 'key')], [connector(1, 'served', { hosts: ['127.0.0.1', '127.0.0.2'] })]);
    local.routingChanged();
    const { keys } = local;
    assert.deepEqual(keys, [
      { routingKey: 'key', connectors: 0, listeners: 1 },
      { routingKey: 'served', connectors: 2, listeners: 0 },
    ]);
    // Reported in this iteration's check phase, before which the listener's socket cannot open.
    await setImmediate();
    assert.equal(changes, 1);
    await listening(local);
    local.routingChanged();
    assert.equal(local.keys, keys);
    end();
  });

  it('drains: takes nothing new, lets connections finish, and resets what is left at the deadline', async (t) => {
    using server = await echo();
    const { local, routing } = oneSide();
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await listening(local);
    const finishing = await connected(port);
    const staying = await connected(port);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const drained = local.drain(200);
    assert.equal(await refused(port), true);
    finishing.socket.end();
    await eventually('the one that finishes is closed', () => finishing.closed);
    assert.equal(finishing.error, undefined);
    await eventually('only the other is left', () => local.openConnections === 1);
    t.mock.timers.tick(199);
    assert.equal(local.openConnections, 1);
    t.mock.timers.tick(1);
    await drained;
    await eventually('the other is reset', () => staying.closed);
    assert.equal(staying.error?.code, 'ECONNRESET');
  });

  it('resets clients beyond its share of memory', async () => {
    using server = await echo();
    const { local, routing } = oneSide(WEST_ROUTER, { budget: memoryOf(2 * COST.connection) });
    await using _ = local;
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await listening(local);
    const first = await connected(port);
    const second = dial(port);
    await eventually('the second is closed', () => second.closed);
    assert.equal(second.error?.code, 'ECONNRESET');
    first.socket.end();
    await eventually('the first is gone', () => local.openConnections === 0);
    (await connected(port)).socket.destroy();
  });

  it('resets clients, and says why, where they would use up the sockets that the process may have', async () => {
    using server = await echo();
    const said: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => said.push(line) });
    // Client and server are two sockets each.
    const { local, routing } = oneSide(WEST_ROUTER, { log, limits: { sockets: 5 } });
    await using _ = local;
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await listening(local);
    const open = [await connected(port), await connected(port)];
    const beyond = dial(port);
    await eventually('the third is closed', () => beyond.closed);
    assert.equal(beyond.error?.code, 'ECONNRESET');
    assert.match(said.join(''), /4 of the 5 sockets that this process's limit of open files leaves/);
    for (const { socket } of open) socket.end();
    await eventually('both are gone', () => local.openConnections === 0);
    (await connected(port)).socket.destroy();
  });

  it('lets no routing key have all the sockets where there are others', async () => {
    using server = await echo();
    // Client and server are two sockets each.
    const { local, routing } = oneSide(WEST_ROUTER, { limits: { sockets: 18 } });
    await using _ = local;
    const [busy, quiet] = [await freePort(), await freePort()];
    for (const key of ['busy', 'quiet']) routing.byKey.set(key, [here(WEST_ROUTER)]);
    local.apply([listener(busy, 'busy'), listener(quiet, 'quiet')], [connector(server.port, 'busy'), connector(server.port, 'quiet')]);
    await eventually('both listen', () => ['busy', 'quiet'].every((key) => local.state.listeners[`Listener/${key}`]?.listening));
    // Three quarters of what is not set aside, while the other has nothing.
    const open = await atMost(6, busy);
    open.push(await connected(quiet));
    for (const { socket } of open) socket.destroy();
  });

  it('of several keys takes no share from the listener of one of them', async () => {
    using server = await echo();
    const { local, routing } = oneSide(WEST_ROUTER, { limits: { sockets: 18 } });
    await using _ = local;
    const [many, one] = [await freePort(), await freePort()];
    for (const key of ['main', 'spare']) routing.byKey.set(key, [here(WEST_ROUTER)]);
    const several = listener(many, 'several', { destination: { kind: 'priority', routingKeys: ['main', 'spare'] } });
    local.apply([several, listener(one, 'main')], [connector(server.port, 'main'), connector(server.port, 'spare')]);
    await eventually('both listen', () => ['several', 'main'].every((key) => local.state.listeners[`Listener/${key}`]?.listening));
    const open = await atMost(6, many);
    open.push(await connected(one));
    for (const { socket } of open) socket.destroy();
  });
});
