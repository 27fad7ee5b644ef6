/** The console for users of a cluster: answers by token and right. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as requestByTls } from 'node:https';
import type { Socket } from 'node:net';
import { connect as connectByTls } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import type { Permissions } from '../../../src/console/permissions.ts';
import { ReviewedAccess } from '../../../src/console/reviewed-access.ts';
import { serveConsole, type ConsoleServer } from '../../../src/console/server.ts';
import { limitTable } from '../../../src/limits/table.ts';
import { freshCertificate } from '../support/certificate.ts';
import type { Watcher } from '../../../src/console/watcher.ts';
import { exposedObjects } from './exposed-cluster.ts';
import { memorySources, memoryState, memoryWatcher, type MemoryState } from './memory-sources.ts';
import { waitForClose } from '../support/wait-for-close.ts';

/** Tokens of users with these rights. */
const nothing: Permissions = { kinds: new Set(), connections: false, revocations: false, exposure: false, classes: false, probe: false };
const viewer: Permissions = { ...nothing, kinds: new Set(['Site', 'Listener']) };
const rights: ReadonlyMap<string, Permissions> = new Map([
  ['none', nothing],
  ['viewer', viewer],
  ['editor', { ...viewer, connections: true, revocations: true, probe: true }],
  ['lister', { ...nothing, exposure: true }],
  ['exposer', { ...viewer, exposure: true }],
  ['operator', { ...viewer, exposure: true, classes: true }],
]);

interface Answer {
  readonly status: number;
  readonly realm: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

const page = [{ path: 'index.html', type: 'text/html; charset=utf-8', gzip: gzipSync('<p>page</p>') }];

async function open(
  options: {
    readonly error?: Error;
    readonly review?: Promise<void>;
    readonly publicUrls?: readonly URL[];
    /** Tokens that are not valid any more. */
    readonly revoked?: ReadonlySet<string>;
  } = {},
): Promise<
  AsyncDisposable & {
    readonly server: ConsoleServer;
    readonly state: MemoryState;
    readonly watcher: Watcher;
    ask(path: string, token?: string, more?: { method?: string; host?: string }): Promise<Answer>;
  }
> {
  const state = memoryState();
  const watcher = memoryWatcher(state);
  await watcher.read();
  const users = new ReviewedAccess({
    authenticate: async (token) => {
      await options.review;
      if (options.error !== undefined) throw options.error;
      return rights.has(token) && options.revoked?.has(token) !== true ? { username: token } : undefined;
    },
    permissionsOf: async ({ username }) => rights.get(username) ?? assert.fail('an unknown user'),
  });
  const { publicUrls = [] } = options;
  const server = await serveConsole({ sources: memorySources(state), watcher, assets: page, port: 0, publicUrls, users });
  return {
    server,
    state,
    watcher,
    async ask(path, token, { method = 'GET', host = 'localhost:1234' } = {}) {
      const headers = { host, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
      const asked = request({ host: '127.0.0.1', port: server.port, path: `/api/v1/${path}`, method, headers, agent: false });
      asked.end(method === 'POST' ? JSON.stringify({ kind: 'Listener', name: 'web' }) : undefined);
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, realm: response.headers['www-authenticate'], body: JSON.parse(await text(response)) };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

suite('the console for users of a cluster', () => {
  const cases: readonly (readonly [token: string | undefined, path: string, status: number, method?: 'POST'])[] = [
    [undefined, 'overview', 401],
    ['unknown', 'overview', 401],
    ['none', 'overview', 403],
    ['none', 'stream', 403],
    ['viewer', 'overview', 200],
    ['viewer', 'resources/Listener', 200],
    ['viewer', 'resources/Link', 403],
    ['viewer', 'connections', 403],
    ['editor', 'connections', 200],
    ['viewer', 'probe', 403, 'POST'],
    // The sources in memory explain nothing.
    ['editor', 'probe', 404, 'POST'],
    ['editor', 'session', 403],
  ];
  for (const [token, path, status, method] of cases) {
    test(`answers ${status} to ${path} with ${token === undefined ? 'no token' : `the token ${token}`}`, async () => {
      await using console = await open();
      assert.equal((await console.ask(path, token, method === undefined ? {} : { method })).status, status);
    });
  }

  test('shows exposed objects to users who may list them, and ListenerClasses to those who may list these', async () => {
    await using console = await open();
    console.state.cluster = { objects: exposedObjects() };
    await console.watcher.readExposure();
    await console.watcher.read();
    const ask = async (path: string): Promise<readonly string[]> =>
      Promise.all(
        ['viewer', 'exposer', 'operator'].map(async (token) => {
          const { status, body } = await console.ask(path, token);
          return `${status} ${String(body['total'] ?? body['name'] ?? '')}`.trim();
        }),
      );
    assert.deepEqual(await ask('exposure/listeners'), ['403', '200 3', '200 3']);
    assert.deepEqual(await ask('exposure/listeners/web'), ['403', '200 web', '200 web']);
    assert.deepEqual(await ask('exposure/classes'), ['403', '200 0', '200 2']);
    assert.deepEqual(await ask('exposure/classes/outside'), ['403', '404', '200 outside']);
    assert.match(
      JSON.stringify((await console.ask('exposure/classes', 'exposer')).body['partial']),
      /you have no right to list listenerclasses\.listeners\.stackable\.tech in the cluster/,
    );
  });

  test('reads exposed objects only while users who may see them use it', async (t) => {
    await using console = await open();
    const reads = async (): Promise<boolean> => {
      const before = console.state.exposureReads;
      await console.watcher.readExposure();
      return console.state.exposureReads > before;
    };
    const wait = (): void => void (console.state.now += 5 * 60_000);
    assert.ok(await reads());
    wait();
    assert.ok(!(await reads()));
    for (const token of [undefined, 'none', 'viewer', 'lister']) await console.ask('overview', token);
    assert.ok(!(await reads()));
    await console.ask('overview', 'exposer');
    assert.ok(await reads());

    t.mock.timers.enable({ apis: ['setInterval'] });
    await using streaming = await open();
    for (const [token, isRead] of [
      ['viewer', false],
      ['exposer', true],
    ] as const) {
      const headers = { host: 'localhost', authorization: `Bearer ${token}` };
      const asked = request({ host: '127.0.0.1', port: streaming.server.port, path: '/api/v1/stream', headers, agent: false }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      response.on('error', () => {}).resume();
      streaming.state.now += 5 * 60_000;
      t.mock.timers.tick(15_000);
      const before = streaming.state.exposureReads;
      await streaming.watcher.readExposure();
      assert.equal(streaming.state.exposureReads > before, isRead, token);
    }
  });

  test('lets the page know that a token of the cluster signs in', async () => {
    await using console = await open();
    const { realm, body } = await console.ask('overview');
    assert.equal(realm, 'Bearer realm="kubernetes"');
    assert.match(String(body['do']), /kubectl create token/);
  });

  test('says that the API server does not answer', async () => {
    await using console = await open({ error: new Error('unreachable') });
    const { status, body } = await console.ask('overview', 'viewer');
    assert.deepEqual([status, body['code']], [503, 'no-review']);
  });

  test('has loopback names with any port, and public addresses', async () => {
    await using console = await open({ publicUrls: [new URL('https://console.example')] });
    const hosts = ['localhost:9', '127.0.0.1', '[::1]:8443', 'console.example', 'evil', 'localhost.evil:9', 'localhost:9.evil'];
    const answers = await Promise.all(hosts.map(async (host) => (await console.ask('overview', 'viewer', { host })).status));
    assert.deepEqual(answers, [200, 200, 200, 200, 421, 421, 421]);
  });

  test('is open for users while clients with a token and no right hold all connections that they can', async () => {
    await using console = await open();
    const agent = new Agent({ keepAlive: true });
    const headers = { host: 'localhost', authorization: 'Bearer none' };
    for (let count = 0; count < limitTable.consoleConnections.value; count += 1) {
      const asked = request({ host: '127.0.0.1', port: console.server.port, path: '/api/v1/overview', headers, agent }).end();
      // The answer is not read, so its connection stays busy.
      await once(asked, 'response');
    }
    assert.equal((await console.ask('overview', 'viewer')).status, 200);
    agent.destroy();
  });

  test('keeps no stream for clients that leave while their token is reviewed', async () => {
    const gate = Promise.withResolvers<void>();
    await using console = await open({ review: gate.promise });
    const { port } = console.server;
    const stream = (): ClientRequest =>
      request({
        host: '127.0.0.1',
        port,
        path: '/api/v1/stream',
        headers: { host: 'localhost', authorization: 'Bearer viewer' },
        agent: false,
      })
        .on('error', () => {})
        .end();
    const left = Array.from({ length: limitTable.consoleStreams.value }, stream);
    await Promise.all(left.map(async (each) => once(((await once(each, 'socket')) as [Socket])[0], 'connect')));
    // Each answer shows that the server has read what arrived before.
    await console.ask('overview');
    for (const each of left) each.destroy();
    for (let turn = 0; turn < 10; turn += 1) await console.ask('overview');
    gate.resolve();
    let status = 0;
    for (const end = performance.now() + 60_000; status !== 200 && performance.now() < end;) {
      const asked = stream();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      status = response.statusCode ?? 0;
      asked.destroy();
    }
    assert.equal(status, 200);
  });

  test('ends a stream within a minute after its token was revoked', async (t) => {
    const revoked = new Set<string>();
    await using console = await open({ revoked });
    assert.equal((await console.ask('overview', 'viewer')).status, 200);
    revoked.add('viewer');
    console.state.now += 29_000;
    t.mock.timers.enable({ apis: ['setInterval'] });
    const headers = { host: 'localhost', authorization: 'Bearer viewer' };
    const asked = request({ host: '127.0.0.1', port: console.server.port, path: '/api/v1/stream', headers, agent: false }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    response.on('error', () => {}).resume();
    for (let second = 29; second < 60; second += 1) {
      console.state.now += 1_000;
      t.mock.timers.tick(1_000);
      // The answer shows that the server has read what arrived before.
      await console.ask('overview');
    }
    assert.ok(response.destroyed);
  });

  suite('behind a proxy', () => {
    const [own, proxy, foreign] = [freshCertificate(), freshCertificate(), freshCertificate()];

    async function openBehindProxy(proxyCa: string | undefined) {
      const state = memoryState();
      const watcher = memoryWatcher(state);
      await watcher.read();
      const server = await serveConsole({
        sources: memorySources(state),
        watcher,
        assets: page,
        port: 0,
        publicUrls: [],
        users: new ReviewedAccess({
          authenticate: async (token) => (rights.has(token) ? { username: token } : undefined),
          permissionsOf: async ({ username, groups = [] }) =>
            rights.get(groups.includes('editors') ? 'editor' : username) ?? rights.get('none') ?? assert.fail(),
        }),
        tls: { ...own, ...(proxyCa === undefined ? {} : { proxyCa }) },
      });
      const agents = new Set<TlsAgent>();
      return {
        server,
        async ask(
          headers: Readonly<Record<string, string | string[]>>,
          shown?: { readonly cert: string; readonly key: string },
          agent: TlsAgent | false = false,
        ) {
          if (agent !== false) agents.add(agent);
          const asked = requestByTls({
            host: '127.0.0.1',
            checkServerIdentity: () => undefined,
            port: server.port,
            path: '/api/v1/connections',
            headers: { host: 'localhost', ...headers },
            ca: own.ca,
            agent,
            ...(shown === undefined ? {} : { cert: shown.cert, key: shown.key }),
          }).end();
          const [response] = (await once(asked, 'response')) as [IncomingMessage];
          await text(response);
          return response.statusCode ?? 0;
        },
        async [Symbol.asyncDispose]() {
          for (const agent of agents) agent.destroy();
          await server[Symbol.asyncDispose]();
        },
      };
    }

    test('admits the user that a proxy with a certificate names, with the rights of that user', async () => {
      await using console = await openBehindProxy(proxy.ca);
      assert.equal(await console.ask({ 'x-remote-user': 'editor' }, proxy), 200);
      assert.equal(await console.ask({ 'x-remote-user': 'viewer' }, proxy), 403);
      assert.equal(await console.ask({ 'x-remote-user': 'viewer', 'x-remote-group': ['dev', 'editors'] }, proxy), 200);
    });

    const refusedFor: readonly (readonly [what: string, shown: typeof proxy | undefined, token?: string])[] = [
      ['without a certificate', undefined],
      ['with a certificate of another authority', foreign],
      ['without a certificate, and with the token of an editor', undefined, 'editor'],
    ];
    for (const [what, shown, token] of refusedFor) {
      test(`answers 401 to headers ${what}`, async () => {
        await using console = await openBehindProxy(proxy.ca);
        const headers = { 'x-remote-user': 'editor', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
        assert.equal(await console.ask(headers, shown), 401);
      });
    }

    test('answers 401 to headers in a resumed session of a client without a certificate', async () => {
      await using console = await openBehindProxy(proxy.ca);
      const agent = new TlsAgent({ maxCachedSessions: 1, keepAlive: false });
      for (let attempt = 0; attempt < 3; attempt += 1)
        assert.equal(await console.ask({ 'x-remote-user': 'editor' }, undefined, agent), 401);
    });

    test('ends open connections once the authority of proxies changes, and only then', async () => {
      await using console = await openBehindProxy(proxy.ca);
      const { cert, key } = proxy;
      const socket = connectByTls({
        host: '127.0.0.1',
        port: console.server.port,
        ca: own.ca,
        cert,
        key,
        checkServerIdentity: () => undefined,
      });
      const isAdmitted = async (): Promise<boolean> => {
        socket.write('GET /api/v1/connections HTTP/1.1\r\nhost: localhost\r\nx-remote-user: editor\r\n\r\n');
        const [answer] = (await once(socket, 'data')) as [Buffer];
        return answer.toString().startsWith('HTTP/1.1 200 ');
      };
      assert.ok(await isAdmitted());
      console.server.setTls({ ...own, proxyCa: proxy.ca });
      assert.ok(await isAdmitted());
      const ended = waitForClose(socket);
      console.server.setTls({ ...own, proxyCa: foreign.ca });
      await ended;
      assert.equal(await console.ask({ 'x-remote-user': 'editor' }, proxy), 401);
    });

    test('refuses requests of pages that came by HTTP, unless the proxy says that its clients use it', async () => {
      await using console = await openBehindProxy(undefined);
      const authorization = 'Bearer editor';
      const from = (origin: string, scheme?: string): Promise<number> =>
        console.ask({ authorization, origin, ...(scheme === undefined ? {} : { 'x-forwarded-proto': scheme }) });
      assert.equal(await from('https://localhost'), 200);
      assert.equal(await from('http://localhost'), 403);
      assert.equal(await from('http://localhost', 'http'), 200);
      assert.equal(await from('http://localhost', 'https, http'), 403);
    });

    test('admits tokens besides, and ignores headers if no authority of proxies is given', async () => {
      await using console = await openBehindProxy(proxy.ca);
      assert.equal(await console.ask({ authorization: 'Bearer editor' }), 200);
      await using plain = await openBehindProxy(undefined);
      assert.equal(await plain.ask({ 'x-remote-user': 'editor' }, proxy), 401);
      assert.equal(await plain.ask({ 'x-remote-user': 'editor', authorization: 'Bearer viewer' }), 403);
    });
  });

  test('serves TLS with a certificate, and with a newer one after a change', async () => {
    const [first, second] = [freshCertificate(), freshCertificate()];
    const state = memoryState();
    await using server = await serveConsole({
      sources: memorySources(state),
      watcher: memoryWatcher(state),
      assets: page,
      port: 0,
      publicUrls: [],
      users: new ReviewedAccess({ authenticate: async () => undefined, permissionsOf: () => assert.fail() }),
      tls: first,
    });
    const status = async (ca: string): Promise<number> => {
      const asked = requestByTls({
        host: '127.0.0.1',
        checkServerIdentity: () => undefined,
        port: server.port,
        path: '/',
        headers: { host: 'localhost' },
        ca,
        agent: false,
      }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode ?? 0;
    };
    assert.equal(await status(first.ca), 200);
    server.setTls(second);
    await assert.rejects(status(first.ca));
    assert.equal(await status(second.ca), 200);
  });
});
