import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestHead, ResponseHead, Stream } from '../../../../src/http2/contract.ts';
import type { LocalSide } from '../../../../src/router/local/local-side.ts';
import { eventually } from '../../../harness/wait.ts';
import { dial, serve } from './peers.ts';
import { freePort } from '../../support/free-port.ts';
import { connector, EAST_ROUTER, here, listener, oneSide, probedConnector, there, twoSides, WEST, WEST_ROUTER } from './two-sides.ts';

const listening = (local: LocalSide) => eventually('the listener listens', () => local.state.listeners['Listener/key']?.listening);
const serversOf = (local: LocalSide, name = 'Connector/key') => local.state.connectors[name]?.servers;
const problemOf = (local: LocalSide, name?: string) => {
  const servers = serversOf(local, name);
  return servers?.kind === 'failing' ? servers.problem : undefined;
};

/** Asks a local side for a connection as a link would, and keeps what it answers. */
class Asking implements Stream {
  readonly id = 1;
  readonly queued = 0;
  readonly held = 0;
  answer: ResponseHead | undefined;
  resetCode: number | undefined;
  consumedBytes = 0;

  respond(head: ResponseHead): void {
    this.answer = head;
  }
  write(): boolean {
    return true;
  }
  end(): void {}
  reset(code: number): void {
    this.resetCode = code;
  }
  consumed(bytes: number): void {
    this.consumedBytes += bytes;
  }
}

const ask = (routingKey: string, fields = {}): RequestHead => ({ method: 'CONNECT', authority: routingKey, fields });

describe('a connector', () => {
  it("receives the client's site and route", async () => {
    using server = await serve();
    await using sides = await twoSides();
    sides.west.routing.byKey.set('key', [there(EAST_ROUTER)]);
    sides.east.local.apply([], [connector(server.port, 'key')]);
    const port = await freePort();
    sides.west.local.apply([listener(port, 'key')], []);
    await listening(sides.west.local);
    const client = dial(port);
    await eventually('the server is reached', () => server.peers.length === 1);
    const [head] = sides.heads;
    assert.equal(head?.method, 'CONNECT');
    assert.equal(head.authority, 'key');
    assert.equal(head.fields['earshot-route'], EAST_ROUTER);
    assert.equal(head.fields['earshot-origin'], WEST);
    assert.match(head.fields['earshot-connection'] ?? '', /^[0-9a-z]{1,32}$/);
    client.socket.destroy();
  });

  it('spreads connections over its hosts by how many each has', async () => {
    using server = await serve();
    const { local, routing } = oneSide();
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    const port = await freePort();
    // All of 127.0.0.0/8 is this machine.
    using other = await serve();
    local.apply([listener(port, 'key')], [connector(server.port, 'key'), connector(other.port, 'key', { name: 'Connector/other' })]);
    await listening(local);
    const clients = Array.from({ length: 10 }, () => dial(port));
    await eventually('all are connected', () => server.peers.length + other.peers.length === 10);
    assert.deepEqual([server.peers.length, other.peers.length], [5, 5]);
    for (const { socket } of clients) socket.destroy();
  });

  it('sets a server that refuses aside, asks it again, and gives it connections when it answers', async () => {
    using good = await serve();
    const port = await freePort();
    const away = await freePort();
    const { local, routing } = oneSide();
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(good.port, 'key', { name: 'Connector/good' }), probedConnector(away, 'key')]);
    await listening(local);
    const clients = [dial(port), dial(port), dial(port)];
    await eventually('all are with the good server', () => good.peers.length === 3);
    await eventually('the other is set aside', () => problemOf(local)?.code === 'target-refused');
    assert.match(problemOf(local)?.message ?? '', new RegExp(`^Connection refused: nothing is listening at 127\\.0\\.0\\.1:${away}\\.$`));
    using back = await serve(() => {}, away);
    await eventually('it was asked again', () => problemOf(local) === undefined);
    const late = dial(port);
    await eventually('it gets the next connection', () => back.peers.some(({ closed }) => !closed));
    for (const { socket } of [...clients, late]) socket.destroy();
  });

  it('is probed when it is new, by one connection, and not again while it works', async () => {
    using server = await serve();
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply([], [probedConnector(server.port, 'key')]);
    assert.deepEqual(serversOf(local), { kind: 'untried' });
    await eventually('it is known', () => serversOf(local) === undefined);
    await eventually('the probe is over', () => server.peers[0]?.ended);
    local.apply([], [probedConnector(server.port, 'key')]);
    assert.equal(server.peers.length, 1);
  });

  it('that changes its server is probed again, and says what it has found before until then', async () => {
    using server = await serve();
    using other = await serve();
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply([], [probedConnector(server.port, 'key')]);
    await eventually('it is known', () => serversOf(local) === undefined);
    local.apply([], [probedConnector(other.port, 'key')]);
    assert.deepEqual(serversOf(local), { kind: 'untried' });
    await eventually('the other is known', () => other.peers.length === 1 && serversOf(local) === undefined);
  });

  it('with a closed port says so before any client comes, and that it works once its server has started', async () => {
    const away = await freePort();
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply([], [probedConnector(away, 'key')]);
    await eventually('it is found out', () => problemOf(local)?.code === 'target-refused');
    assert.deepEqual(serversOf(local), { kind: 'failing', problem: problemOf(local), worked: false });
    assert.deepEqual(local.keys, [{ routingKey: 'key', connectors: 1, listeners: 0, failing: true }]);
    {
      using _server = await serve(() => {}, away);
      await eventually('it works', () => serversOf(local) === undefined);
      assert.deepEqual(local.keys, [{ routingKey: 'key', connectors: 1, listeners: 0 }]);
    }
    const stream = new Asking();
    local.accept(stream, ask('key'), { owner: 'site' });
    await eventually('a client finds it gone', () => stream.answer?.status === 502);
    assert.deepEqual(serversOf(local), { kind: 'failing', problem: problemOf(local), worked: true });
  });

  it('is one of many, and all become known', async () => {
    using server = await serve();
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    const all = Array.from({ length: 300 }, (_each, index) => probedConnector(server.port, `key${index}`));
    local.apply([], all);
    await eventually('all are known', () => all.every(({ name }) => serversOf(local, name) === undefined));
    await eventually('each has had one connection', () => server.peers.length === all.length);
  });

  it('that may not be probed is tried by clients alone, also after it has failed', async () => {
    const away = await freePort();
    using good = await serve(({ socket }) => socket.write('good'));
    const { local, routing } = oneSide(WEST_ROUTER, { random: () => 0 });
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    const port = await freePort();
    local.apply([listener(port, 'key')], [connector(away, 'key'), connector(good.port, 'key', { name: 'Connector/good' })]);
    await listening(local);
    assert.equal(serversOf(local), undefined);
    const first = dial(port);
    await eventually('the good server has it', () => first.text === 'good');
    assert.equal(problemOf(local)?.code, 'target-refused');
    using server = await serve(({ socket }) => socket.write('back'), away);
    const clients = [first];
    await eventually('a client is given to it', async () => {
      const client = dial(port);
      clients.push(client);
      await eventually('an answer', () => client.text !== '');
      return client.text === 'back';
    });
    assert.equal(server.peers.length, 1);
    assert.equal(problemOf(local), undefined);
    for (const { socket } of clients) socket.destroy();
  });

  it('still tries a server that is set aside when there is no other', async () => {
    const away = await freePort();
    const { local, routing } = oneSide(WEST_ROUTER, { limits: { setAsideFirst: 60_000, setAsideMost: 60_000 } });
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    const port = await freePort();
    local.apply([listener(port, 'key')], [connector(away, 'key')]);
    await listening(local);
    const first = dial(port);
    await eventually('the first is reset', () => first.closed);
    assert.equal(problemOf(local)?.code, 'target-refused');
    using server = await serve(({ socket }) => socket.write('back'), away);
    const second = dial(port);
    await eventually('the second gets through', () => second.text === 'back');
    assert.equal(problemOf(local), undefined);
    assert.equal(server.peers.length, 1);
    second.socket.destroy();
  });

  it('tries each server that is set aside where all are', async () => {
    const limits = { setAsideFirst: 60_000, setAsideMost: 60_000 };
    const { local, routing } = oneSide(WEST_ROUTER, { limits, random: () => 0 });
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    const [port, dead, away] = [await freePort(), await freePort(), await freePort()];
    const connectors = [connector(dead, 'key', { name: 'Connector/dead' }), connector(away, 'key')];
    local.apply([listener(port, 'key')], connectors);
    await listening(local);
    const first = dial(port);
    await eventually('the first is reset', () => first.closed);
    await eventually('both are set aside', () => connectors.every(({ name }) => problemOf(local, name) !== undefined));
    using server = await serve(({ socket }) => socket.write('back'), away);
    const second = dial(port);
    await eventually('the second gets through', () => second.text === 'back');
    assert.equal(server.peers.length, 1);
    second.socket.destroy();
  });

  it('tries the next destination when one answers that it cannot', async (t) => {
    const now = performance.now();
    // A server that refused comes after all others only for a moment.
    t.mock.method(performance, 'now', () => now);
    using server = await serve(({ socket }) => socket.write('here'));
    await using sides = await twoSides();
    const port = await freePort();
    // The east is nearer, but has no such connector any more.
    sides.west.routing.byKey.set('key', [there(EAST_ROUTER, 1), { ...here(WEST_ROUTER), cost: 5 }]);
    sides.west.local.apply([listener(port, 'key')], [connector(server.port, 'key')]);
    await listening(sides.west.local);
    const client = dial(port);
    await eventually('the other destination has it', () => client.text === 'here');
    assert.equal(sides.heads.length, 1);
    const second = dial(port);
    await eventually('the next goes there at once', () => second.text === 'here');
    assert.equal(sides.heads.length, 1);
    client.socket.destroy();
    second.socket.destroy();
  });

  it('answers with what went wrong', async () => {
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply(
      [],
      [
        connector(await freePort(), 'refused'),
        connector(1, 'empty', { hosts: [] }),
        connector(1, 'nameless', { hosts: ['no-such-host.invalid'] }),
      ],
    );
    const expected = {
      unknown: [404, 'destination_not_found'],
      empty: [404, 'destination_not_found'],
      refused: [502, 'connection_refused'],
      nameless: [502, 'dns_error'],
    } as const;
    for (const [key, [status, error]] of Object.entries(expected)) {
      const stream = new Asking();
      local.accept(stream, ask(key), { owner: 'site' });
      const answer = await eventually(`an answer for ${key}`, () => stream.answer);
      assert.deepEqual([answer.status, answer.fields['proxy-status']], [status, `earshot; error=${error}`]);
    }
    const drained = local.drain(0);
    const stream = new Asking();
    local.accept(stream, ask('refused'), { owner: 'site' });
    assert.equal(stream.answer?.status, 503);
    await drained;
  });

  it('says that the name of its server has no address before anybody asks for it', async () => {
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply([], [connector(1, 'key', { hosts: ['no-such-host.invalid'] })]);
    const { code, message } = await eventually('its problem', () => problemOf(local));
    assert.equal(code, 'target-name-unknown');
    assert.match(message, /^The name "no-such-host\.invalid" has no address \([A-Z_]+\)\.$/);
  });

  it('drops what comes after a refusal, and keeps the window open for it', async () => {
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply([], []);
    const stream = new Asking();
    const handler = local.accept(stream, ask('unknown'), { owner: 'site' });
    handler.onData(Buffer.from('abc'));
    await eventually('an answer', () => stream.answer);
    handler.onData(Buffer.from('de'));
    handler.onEnd();
    assert.equal(stream.consumedBytes, 5);
  });

  it('gives up when the client goes away first', async () => {
    const { local, routing } = oneSide();
    await using _ = local;
    // TEST-NET-1 (RFC 5737): no answer, or no route.
    local.apply([], [connector(9, 'key', { hosts: ['192.0.2.1'] })]);
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    const stream = new Asking();
    const handler = local.enter(stream, ask('key'), { owner: 'site' });
    assert.equal(local.openConnections, 1);
    handler.onReset({ code: 8, reason: 'the client went away' });
    assert.equal(local.openConnections, 0);
    assert.equal(stream.answer, undefined);
  });

  it('lets bytes that came before the answer be the first that the server gets', async () => {
    using server = await serve();
    const { local } = oneSide(EAST_ROUTER);
    await using _ = local;
    local.apply([], [connector(server.port, 'key')]);
    const stream = new Asking();
    const handler = local.accept(stream, ask('key'), { owner: 'site' });
    handler.onData(Buffer.from('first '));
    handler.onData(Buffer.from('second '));
    await eventually('an answer', () => stream.answer);
    handler.onData(Buffer.from('third'));
    handler.onEnd();
    await eventually('the server has all', () => server.peers[0]?.ended);
    assert.equal(server.peers[0]?.text, 'first second third');
    assert.equal(stream.consumedBytes, 18);
  });
});
