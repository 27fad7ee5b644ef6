import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { createServer as createTlsServer, connect as connectTls, createSecureContext, TLSSocket, type ConnectionOptions } from 'node:tls';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ConnectorConfig, Problem, TlsBundle } from '../../../../src/router/contract.ts';
import type { LocalLimits } from '../../../../src/router/local/contract.ts';
import type { LocalSide } from '../../../../src/router/local/local-side.ts';
import { Memory } from '../../../../src/memory/memory.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { eventually } from '../../../harness/wait.ts';
import { testAuthority } from '../support/certificates.ts';
import { roomy } from '../support/memory.ts';
import { dial, Peer, serve } from './peers.ts';
import { freePort } from '../../support/free-port.ts';
import { connector, here, listen, listener, oneSide, probedConnector, WEST_ROUTER } from './two-sides.ts';

const authority = await testAuthority();
const otherAuthority = await testAuthority('another authority');
const bundle = await authority.issue({ hosts: ['localhost', '127.0.0.1'] });
const { ca: _ca, ...withoutCa } = bundle;

const stateOf = (local: LocalSide) => local.state.listeners['Listener/key'];
const listening = (local: LocalSide) => eventually('the listener listens', () => stateOf(local)?.listening);

interface TlsClient extends Peer {
  readonly socket: TLSSocket;
}

function dialTls(port: number, options: ConnectionOptions = {}): TlsClient {
  const raw = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const socket = connectTls({ socket: raw, servername: 'localhost', ca: authority.ca, ...options });
  return Object.assign(new Peer(socket), { socket });
}

/** A router whose listener has TLS, in front of a plain server. */
async function tlsListener(tls: TlsBundle, server: { readonly port: number }, limits: Partial<LocalLimits> = {}, budget = roomy()) {
  const { local, routing } = oneSide(WEST_ROUTER, { limits, budget });
  const port = await freePort();
  routing.byKey.set('key', [here(WEST_ROUTER)]);
  const apply = (other: TlsBundle): void => local.apply([listener(port, 'key', { tls: other })], [connector(server.port, 'key')]);
  apply(tls);
  return { local, port, apply };
}

it('a server that sends an invalid record after its handshake ends its client', async (t) => {
  const secureContext = createSecureContext(withoutCa);
  const invalid = Buffer.concat([Buffer.from('1703030020', 'hex'), Buffer.alloc(0x20)]);
  const server = createServer((raw) => {
    t.after(() => raw.destroy());
    raw.on('error', () => {});
    const socket = new TLSSocket(raw, { isServer: true, secureContext });
    socket.on('error', () => {}).once('data', () => raw.write(invalid));
  });
  const { local, routing } = oneSide(WEST_ROUTER);
  await using _ = local;
  const [port, to] = [await freePort(), await listen(server)];
  t.after(() => server.close());
  routing.byKey.set('key', [here(WEST_ROUTER)]);
  const tls = { bundle: { name: 'key', ca: authority.ca }, verifyHostname: false };
  local.apply([listener(port, 'key')], [connector(to, 'key', { tls })]);
  await listening(local);
  const client = dial(port);
  t.after(() => client.socket.destroy());
  client.socket.write('a');
  await eventually('the client to be reset', () => client.error?.code === 'ECONNRESET');
});

it('a connector with TLS counts what that takes once a server has been reached', async (t) => {
  const server = createTlsServer({ ...bundle }, (socket) => void socket.on('error', () => {}).resume());
  using budget = new Memory({ bytes: 1 << 20, peers: 10 }, createLogger({ level: 'silent', component: 'test' }));
  const { local, routing } = oneSide(WEST_ROUTER, { budget });
  await using _ = local;
  const [port, to] = [await freePort(), await listen(server)];
  routing.byKey.set('key', [here(WEST_ROUTER)]);
  local.apply(
    [listener(port, 'key')],
    [connector(to, 'key', { tls: { bundle: { name: 'key', ca: authority.ca }, verifyHostname: false } })],
  );
  await listening(local);
  const clients: Peer[] = [];
  t.after(() => {
    for (const { socket } of clients) socket.destroy();
    server.close();
  });
  let served = 0;
  server.on('secureConnection', () => void (served += 1));
  for (let open = 0; served === open && open < 100; open += 1) {
    const client = dial(port);
    clients.push(client);
    await eventually('it to be let in or not', () => client.closed || served > open);
    await eventually('it to be joined', () => client.closed || local.openConnections > open);
  }
  assert.ok(served >= 11 && served <= 16, `${served} are served`);
});

it('a connector with TLS shakes hands with a server once, however often the server asks', async (t) => {
  const asked = Promise.withResolvers<Error | null>();
  const server = createTlsServer({ ...bundle, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.on('error', () => {}).resume();
    socket.renegotiate({}, asked.resolve);
    // A peer that refuses sends an alert, which OpenSSL reports to the socket only.
    socket.once('error', asked.resolve);
    socket.once('close', () => asked.resolve(new Error('closed')));
  });
  const { local, routing } = oneSide(WEST_ROUTER);
  await using _ = local;
  const [port, to] = [await freePort(), await listen(server)];
  routing.byKey.set('key', [here(WEST_ROUTER)]);
  local.apply(
    [listener(port, 'key')],
    [connector(to, 'key', { tls: { bundle: { name: 'key', ca: authority.ca }, verifyHostname: false } })],
  );
  await listening(local);
  const client = dial(port);
  t.after(() => {
    client.socket.destroy();
    server.close();
  });
  assert.notEqual(await asked.promise, null);
});

function problemOf(local: LocalSide): Problem | undefined {
  const servers = local.state.connectors['Connector/key']?.servers;
  return servers?.kind === 'failing' ? servers.problem : undefined;
}

describe('a listener with TLS', () => {
  it('carries bytes, half-closes and ends both ways', async () => {
    using server = await serve();
    const { local, port } = await tlsListener(withoutCa, server);
    await using _ = local;
    await listening(local);
    const client = dialTls(port);
    client.socket.end('question');
    const peer = await eventually('the server has a connection', () => server.peers[0]);
    await eventually('the question has ended', () => peer.ended);
    assert.equal(peer.text, 'question');
    peer.socket.end('answer');
    await eventually('the client is closed', () => client.closed);
    assert.deepEqual([client.text, client.ended, client.error, peer.error], ['answer', true, undefined, undefined]);
  });

  it('counts what TLS takes of memory, many times what a connection takes without', async () => {
    using server = await serve();
    using budget = new Memory({ bytes: 1 << 20, peers: 10 }, createLogger({ level: 'silent', component: 'test' }));
    const { local, port } = await tlsListener(withoutCa, server, {}, budget);
    await using _ = local;
    await listening(local);
    const clients: TlsClient[] = [];
    for (let open = 0; server.peers.length === open && open < 100; open += 1) {
      const client = dialTls(port);
      clients.push(client);
      await eventually('it to be let in or not', () => client.closed || server.peers.length > open);
    }
    // Three quarters of a megabyte.
    assert.equal(server.peers.length, 12);
    for (const { socket } of clients) socket.destroy();
  });

  it('closes a client that does not finish its handshake in time, whether it says something or not', async () => {
    using server = await serve();
    const { local, port } = await tlsListener(withoutCa, server, { handshake: 50 });
    await using _ = local;
    await listening(local);
    const [silent, half] = [dial(port), dial(port)];
    half.socket.write(Buffer.from('1603010200', 'hex'));
    half.socket.end();
    await eventually('both to be closed by the listener', () => silent.ended && half.ended);
  });

  it('reads no more of a handshake than one takes, where many are under way', async (t) => {
    using server = await serve();
    const { local, port } = await tlsListener(withoutCa, server, { handshake: 600_000 });
    await using _ = local;
    await listening(local);
    const before = Array.from({ length: 16 }, () => dial(port));
    const wordy = dial(port);
    t.after(() => [...before, wordy].forEach(({ socket }) => socket.destroy()));
    // The beginning of a ClientHello of 128 KiB, in records of 16.
    const record = Buffer.concat([Buffer.from('1603014000', 'hex'), Buffer.alloc(16_384, 1)]);
    Buffer.from('0101ffff0303', 'hex').copy(record, 5);
    wordy.socket.write(Buffer.concat([record, record]));
    await eventually('it is closed', () => wordy.ended || wordy.closed);
  });

  it('begins a few handshakes in a turn, however many clients ask for one at once', async (t) => {
    using server = await serve();
    const { local, port } = await tlsListener(withoutCa, server);
    await using _ = local;
    await listening(local);
    const raws = Array.from({ length: 64 }, () => dial(port).socket);
    t.after(() => raws.forEach((raw) => raw.destroy()));
    for (let turn = 0; turn < 256; turn += 1) await setImmediate();
    let [answered, inTurn, most] = [0, 0, 0];
    const onAnswer = (): void => {
      answered += 1;
      inTurn += 1;
      most = Math.max(most, inTurn);
    };
    for (const socket of raws) connectTls({ socket, servername: 'localhost', ca: authority.ca }, onAnswer).on('error', () => {});
    for (let left = 20_000; answered < raws.length && left > 0; left -= 1, inTurn = 0) await setImmediate();
    assert.equal(answered, raws.length);
    // The first sixteen are read as they come.
    assert.ok(most <= 20, `${most} were answered in one turn`);
  });

  it('has no more handshakes under way than a part of its memory has room for', async (t) => {
    using server = await serve();
    using budget = new Memory({ bytes: 16 << 20, peers: 10 }, createLogger({ level: 'silent', component: 'test' }));
    const { local, port } = await tlsListener(withoutCa, server, { handshake: 600_000 }, budget);
    await using _ = local;
    await listening(local);
    const silent = Array.from({ length: 30 }, () => dial(port));
    t.after(() => silent.forEach(({ socket }) => socket.destroy()));
    await eventually('some to be closed', () => silent.filter(({ ended }) => ended).length === 30 - 25);
  });

  it('passes resets on', async () => {
    using server = await serve(({ socket }) =>
      socket.once('data', (bytes: Buffer) => bytes.toString() === 'reset me' && socket.resetAndDestroy()),
    );
    const { local, port } = await tlsListener(withoutCa, server);
    await using _ = local;
    await listening(local);
    const client = dialTls(port);
    client.socket.write('reset me');
    await eventually('the client is closed', () => client.closed);
    assert.deepEqual([client.error?.code, client.ended], ['ECONNRESET', false]);
    const raw = dial(port);
    const other = connectTls({ socket: raw.socket, servername: 'localhost', ca: authority.ca });
    other.on('error', () => {});
    other.write('stay');
    const peer = await eventually('the server has it', () => server.peers.find(({ text }) => text === 'stay'));
    raw.socket.resetAndDestroy();
    await eventually('the server is notified', () => peer.closed);
    assert.deepEqual([peer.error?.code, peer.ended], ['ECONNRESET', false]);
  });

  it('wants certificates of clients where the bundle has an authority', async () => {
    using server = await serve(({ socket }) => socket.write('hello'));
    const { local, port } = await tlsListener({ ...bundle, ca: authority.ca }, server);
    await using _ = local;
    await listening(local);
    const { cert = '', key = '' } = await authority.issue();
    const known = dialTls(port, { cert, key });
    await eventually('the one with a certificate gets through', () => known.text === 'hello');
    const foreign = await otherAuthority.issue();
    for (const options of [{}, { cert: foreign.cert ?? '', key: foreign.key ?? '' }]) {
      const unknown = dialTls(port, options);
      await eventually('the other is closed', () => unknown.ended || unknown.closed);
      unknown.socket.destroy();
      assert.equal(unknown.text, '');
    }
    assert.equal(server.peers.length, 1);
    known.socket.destroy();
  });

  it('looks at the certificate of each connection where it wants one, whatever was there before', async () => {
    using server = await serve(({ socket }) => socket.pipe(socket));
    const { local, port } = await tlsListener(bundle, server);
    await using _ = local;
    await listening(local);
    const { cert = '', key = '' } = await authority.issue();
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const known = dialTls(port, { cert, key, maxVersion });
      let session: Buffer | undefined;
      known.socket.on('session', (offered) => (session = offered));
      known.socket.write('a');
      await eventually('the echo', () => known.text === 'a');
      session ??= known.socket.getSession();
      const later = dialTls(port, { maxVersion, ...(session === undefined ? {} : { session }) });
      later.socket.write('a');
      await eventually('the other is closed', () => later.ended || later.closed || later.text === 'a');
      assert.equal(later.text, '');
      for (const { socket } of [known, later]) socket.destroy();
    }
  });

  it('ends a client that asks for another handshake', async () => {
    using server = await serve(({ socket }) => socket.pipe(socket));
    const { local, port } = await tlsListener(bundle, server);
    await using _ = local;
    await listening(local);
    const { cert = '', key = '' } = await authority.issue();
    const client = dialTls(port, { cert, key, maxVersion: 'TLSv1.2' });
    client.socket.write('a');
    await eventually('the echo', () => client.text === 'a');
    client.socket.renegotiate({}, () => client.socket.write('b'));
    await eventually('it to be ended', () => client.ended || client.closed);
    assert.equal(client.text, 'a');
    client.socket.destroy();
  });

  it('takes a new certificate without touching connections', async () => {
    using server = await serve(({ socket }) => socket.pipe(socket));
    const { local, port, apply } = await tlsListener(withoutCa, server);
    await using _ = local;
    await listening(local);
    const before = dialTls(port);
    before.socket.write('a');
    await eventually('the echo', () => before.text === 'a');
    const { ca: _unused, ...renewed } = await authority.issue({ hosts: ['localhost'] });
    apply(renewed);
    const after = dialTls(port);
    after.socket.write('b');
    await eventually('the echo', () => after.text === 'b');
    assert.notEqual(after.socket.getPeerCertificate().serialNumber, before.socket.getPeerCertificate().serialNumber);
    before.socket.write('c');
    await eventually('the first goes on', () => before.text === 'ac');
    for (const { socket } of [before, after]) socket.destroy();
  });

  it('says what is wrong with a bundle, and keeps on with the last good one', async () => {
    using server = await serve(({ socket }) => socket.write('hello'));
    const { key: _key, ...noKey } = withoutCa;
    const { cert: _cert, ...noCert } = withoutCa;
    const other = await authority.issue();
    const { local, port, apply } = await tlsListener(noKey, server);
    await using _ = local;
    const table: readonly (readonly [string, TlsBundle])[] = [
      ['tls-no-key', noKey],
      ['tls-no-cert', noCert],
      ['tls-key-mismatch', { ...withoutCa, key: other.key ?? '' }],
      ['tls-no-cert', { ...withoutCa, cert: 'nonsense' }],
      ['tls-no-key', { ...withoutCa, key: 'nonsense' }],
      ['tls-no-cert', { ...withoutCa, ca: 'nonsense' }],
    ];
    for (const [code, wrong] of table) {
      apply(wrong);
      assert.deepEqual([stateOf(local)?.problem?.code, stateOf(local)?.listening], [code, false]);
      assert.match(stateOf(local)?.problem?.message ?? '', /^The TLS bundle .*\.$/);
    }
    apply(withoutCa);
    await listening(local);
    assert.equal(stateOf(local)?.problem, undefined);
    apply(noKey);
    assert.deepEqual([stateOf(local)?.problem?.code, stateOf(local)?.listening], ['tls-no-key', true]);
    const client = dialTls(port);
    await eventually('clients still get through', () => client.text === 'hello');
    client.socket.destroy();
  });
});

describe('a connector with TLS', () => {
  /** A TLS server with that certificate, and a listener of a router whose connector leads to it. */
  async function reach(serverBundle: TlsBundle, config: Partial<ConnectorConfig>, client: { readonly requestCert?: boolean } = {}) {
    const names: (string | false | null)[] = [];
    const server = createTlsServer(
      { cert: serverBundle.cert, key: serverBundle.key, ca: authority.ca, ...client, allowHalfOpen: true },
      (socket) => {
        names.push(socket.servername);
        socket.on('error', () => {});
        socket.end(socket.authorized ? 'known' : 'hello');
        socket.resume();
      },
    );
    const { local, routing } = oneSide();
    const port = await freePort();
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [connector(await listen(server), 'key', config)]);
    await listening(local);
    const peer = dial(port);
    await eventually('the answer', () => peer.ended || peer.closed);
    const problem = problemOf(local);
    peer.socket.destroy();
    await local[Symbol.asyncDispose]();
    server.close();
    return { text: peer.text, names, problem: problem?.code, words: problem?.message };
  }

  const trusting: TlsBundle = { name: 'server', ca: authority.ca };

  it("checks the server's certificate and name, and sends the name", async () => {
    const result = await reach(bundle, { hosts: ['localhost'], tls: { bundle: trusting, verifyHostname: true } });
    assert.deepEqual(result, { text: 'hello', names: ['localhost'], problem: undefined, words: undefined });
  });

  it('checks an address, and sends no name for it', async () => {
    const result = await reach(bundle, { hosts: ['127.0.0.1'], tls: { bundle: trusting, verifyHostname: true } });
    assert.deepEqual(result, { text: 'hello', names: [false], problem: undefined, words: undefined });
  });

  it('refuses a server of another name, unless the name is not to be checked', async () => {
    const elsewhere = await authority.issue({ hosts: ['elsewhere.example'] });
    const refused = await reach(elsewhere, { tls: { bundle: trusting, verifyHostname: true } });
    assert.deepEqual([refused.text, refused.problem], ['', 'target-tls-certificate']);
    assert.match(refused.words ?? '', /is for DNS:elsewhere\.example, not for 127\.0\.0\.1\. Use a host name/);
    const taken = await reach(elsewhere, { tls: { bundle: trusting, verifyHostname: false } });
    assert.equal(taken.text, 'hello');
  });

  it('refuses a server of another authority, even when the name is not to be checked', async () => {
    const foreign = await otherAuthority.issue({ hosts: ['127.0.0.1'] });
    const result = await reach(foreign, { tls: { bundle: trusting, verifyHostname: false } });
    assert.deepEqual([result.text, result.problem], ['', 'target-tls-certificate']);
  });

  it('says what is wrong with its server now, though it was set aside for something else', async () => {
    const away = await freePort();
    const port = await freePort();
    const { local, routing } = oneSide();
    await using _ = local;
    routing.byKey.set('key', [here(WEST_ROUTER)]);
    local.apply([listener(port, 'key')], [probedConnector(away, 'key', { tls: { bundle: trusting, verifyHostname: true } })]);
    const code = (): string | undefined => problemOf(local)?.code;
    await listening(local);
    const client = dial(port);
    await eventually('nothing listens there', () => code() === 'target-refused');
    using _server = await serve(({ socket }) => socket.end('no TLS'), away);
    await eventually('there is a server, but without TLS', () => code() === 'target-tls-failed');
    client.socket.destroy();
  });

  it('shows its own certificate', async () => {
    const client = await authority.issue();
    const result = await reach(bundle, { tls: { bundle: client, verifyHostname: true } }, { requestCert: true });
    assert.equal(result.text, 'known');
  });

  it('says what is wrong with its bundle', async () => {
    const { local } = oneSide();
    await using _ = local;
    const wrong: TlsBundle = { name: 'half', ...(bundle.cert === undefined ? {} : { cert: bundle.cert }) };
    local.apply([], [connector(1, 'key', { tls: { bundle: wrong, verifyHostname: true } })]);
    assert.equal(local.state.connectors['Connector/key']?.problem?.code, 'tls-no-key');
  });
});
