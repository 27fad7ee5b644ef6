import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { suite, test } from 'node:test';
import { answerApi, probe } from '../../../src/console/api.ts';
import { allPermissions } from '../../../src/console/permissions.ts';
import { EarshotError } from '../../../src/errors/earshot-error.ts';
import { TransportError } from '../../../src/kube/errors.ts';
import { serveConsole, type ConsoleServer } from '../../../src/console/server.ts';
import { exposedObjects } from './exposed-cluster.ts';
import { memorySources, memoryState, memoryWatcher, type MemoryState } from './memory-sources.ts';
import type { Watcher } from '../../../src/console/watcher.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Opened extends AsyncDisposable {
  readonly state: MemoryState;
  readonly watcher: Watcher;
  readonly server: ConsoleServer;
  ask(path: string, options?: { method?: string; headers?: Record<string, string>; body?: string }): Promise<Answer>;
  signIn(): Promise<Record<string, string>>;
}

async function open(publicUrls: readonly URL[] = []): Promise<Opened> {
  const state = memoryState();
  const watcher = memoryWatcher(state);
  await watcher.read();
  const assets = [{ path: 'index.html', type: 'text/html; charset=utf-8', gzip: gzipSync('<p>page</p>') }];
  const server = await serveConsole({ sources: memorySources(state), watcher, assets, port: 0, publicUrls });
  const ask: Opened['ask'] = async (path, { method = 'GET', headers = {}, body } = {}) => {
    const asked = request({ host: '127.0.0.1', port: server.port, path, method, headers, agent: false });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const answer = await text(response);
    const isJson = response.headers['content-type'] === 'application/json';
    return { status: response.statusCode ?? 0, headers: response.headers, body: isJson ? JSON.parse(answer) : { text: answer } };
  };
  const signIn: Opened['signIn'] = async () => {
    const { body } = await ask('/api/v1/session', { method: 'POST', body: JSON.stringify({ token: tokenOf(server.createLink()) }) });
    return { authorization: `Bearer ${String(body['bearer'])}` };
  };
  return { state, watcher, server, ask, signIn, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const tokenOf = (link: string): string => link.slice(link.indexOf('#t=') + 3);

suite('the console server', () => {
  test('exchanges the token of a link once, and refuses it after that', async () => {
    await using console = await open();
    const body = JSON.stringify({ token: tokenOf(console.server.createLink()) });
    const exchange = (): Promise<Answer> => console.ask('/api/v1/session', { method: 'POST', body });
    const first = await exchange();
    assert.equal(first.status, 200);
    assert.equal(
      (await console.ask('/api/v1/overview', { headers: { authorization: `Bearer ${String(first.body['bearer'])}` } })).status,
      200,
    );
    const second = await exchange();
    assert.deepEqual([second.status, second.body['code']], [401, 'signed-out']);
  });

  test('refuses a link that is older than five minutes, and a bearer that was idle for twelve hours', async () => {
    await using console = await open();
    const link = console.server.createLink();
    const headers = await console.signIn();
    console.state.now += 300_001;
    const late = await console.ask('/api/v1/session', { method: 'POST', body: JSON.stringify({ token: tokenOf(link) }) });
    assert.equal(late.status, 401);
    assert.equal((await console.ask('/api/v1/overview', { headers })).status, 200);
    console.state.now += 12 * 3_600_000 + 1;
    assert.equal((await console.ask('/api/v1/overview', { headers })).status, 401);
  });

  const bodies: readonly (readonly [string, string])[] = [
    ['not JSON', 'token'],
    ['a number', '{"token":1}'],
    ['longer than its limit', JSON.stringify({ token: 'x'.repeat(2_000) })],
    ['empty', ''],
  ];
  for (const [name, body] of bodies) {
    test(`refuses a body that is ${name}`, async () => {
      await using console = await open();
      assert.equal((await console.ask('/api/v1/session', { method: 'POST', body })).status, 401);
    });
  }

  const hosts: readonly (readonly [string, number])[] = [
    ['evil', 421],
    ['evil:PORT', 421],
    ['127.0.0.1.evil.example:PORT', 421],
    ['127.0.0.1', 421],
    ['console.example', 200],
    ['127.0.0.1:PORT', 200],
    ['localhost:PORT', 200],
    ['LOCALHOST:PORT', 200],
    ['[::1]:PORT', 200],
  ];
  for (const [host, status] of hosts) {
    test(`answers a request to the host ${host} with ${status}`, async () => {
      await using console = await open([new URL('https://console.example/west/')]);
      const { status: found, body } = await console.ask('/', { headers: { host: host.replace('PORT', String(console.server.port)) } });
      assert.equal(found, status);
      if (status === 421) assert.match(String(body['do']), /--public-url/);
    });
  }

  test('serves the page below the path of a public URL, with or without that path', async () => {
    await using console = await open([new URL('https://console.example/west/')]);
    const headers = { host: 'console.example' };
    for (const path of ['/west/', '/west', '/']) assert.equal((await console.ask(path, { headers })).body['text'], '<p>page</p>');
    assert.equal((await console.ask('/west/api/v1/overview', { headers })).status, 401);
    assert.match(console.server.createLink(), /^https:\/\/console\.example\/west\/#t=/);
  });

  test('refuses a page of HTTP at the host of a public URL of HTTPS', async () => {
    await using console = await open([new URL('https://console.example/')]);
    const headers = { ...(await console.signIn()), host: 'console.example' };
    const statusFrom = async (origin: string): Promise<number> =>
      (await console.ask('/api/v1/overview', { headers: { ...headers, origin } })).status;
    assert.deepEqual([await statusFrom('https://console.example'), await statusFrom('http://console.example')], [200, 403]);
  });

  test('refuses pages of other sites, and changes nothing', async () => {
    await using console = await open();
    const headers = await console.signIn();
    assert.equal((await console.ask('/api/v1/overview', { headers: { ...headers, origin: 'http://evil.example' } })).status, 403);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers: answered } = await console.ask('/api/v1/resources/Listener/web', { method, headers });
      assert.deepEqual([status, answered.allow], [405, 'GET']);
    }
  });

  test('probes on request only, and not more often than its limit', async () => {
    const state = memoryState();
    const watcher = memoryWatcher(state);
    await watcher.read();
    const explained: unknown[] = [];
    const explain = (...asked: readonly unknown[]): Promise<undefined> => {
      explained.push(asked);
      return Promise.resolve(undefined);
    };
    await using server = await serveConsole({
      sources: { ...memorySources(state), explain },
      watcher,
      assets: [],
      port: 0,
      publicUrls: [],
    });
    const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${server.port}/api/v1/${path}`, { method: 'POST', body: JSON.stringify(body), headers });
    const named = { kind: 'Listener', name: 'web' };
    assert.equal((await post('probe', named)).status, 401);
    const { bearer } = (await (await post('session', { token: tokenOf(server.createLink()) })).json()) as { bearer: string };
    const headers = { authorization: `Bearer ${bearer}` };
    await fetch(`http://127.0.0.1:${server.port}/api/v1/explain/Listener/web`, { headers });
    const statuses: number[] = [];
    for (let at = 0; at < 6; at += 1) statuses.push((await post('probe', named, headers)).status);
    assert.deepEqual(statuses, [404, 404, 404, 404, 404, 429]);
    assert.deepEqual(explained.slice(0, 2), [
      ['Listener', 'web', false],
      ['Listener', 'web', true],
    ]);
  });

  test('an object that cannot be read at the moment gets an answer with the reason, and a name that cannot exist is not found', async () => {
    const state = memoryState();
    const failures = new Map<string, Error>([
      ['web', new TransportError('kube-timeout', 'GET listeners: no answer within 5000 ms', { sent: true })],
      ['..', new EarshotError('kube-name', '".." cannot be the name of a Pod.')],
    ]);
    const explain = async (_kind: string, name: string): Promise<undefined> => {
      throw failures.get(name) ?? assert.fail(name);
    };
    const sources = { ...memorySources(state), explain };
    const watcher = memoryWatcher(state);
    const use = { sources, watcher, permissions: allPermissions };
    const answers = await Promise.all(
      ['explain/Pod/web', 'explain/Pod/%2e%2e'].map((path) => answerApi(use, `/api/v1/${path}`, new URLSearchParams())),
    );
    assert.deepEqual(
      answers.map(({ status, body }) => ({ status, ...body })),
      [
        { status: 503, code: 'not-examined', message: 'GET listeners: no answer within 5000 ms', do: 'Try again.' },
        {
          status: 404,
          code: 'not-found',
          message: 'this object cannot be explained',
          do: 'Correct the name, unless the object was deleted.',
        },
      ],
    );
    assert.equal((await probe(use, { kind: 'Pod', name: 'web' })).status, 503);
  });

  test('ends a connection that sends further requests before it has read an answer', async () => {
    await using console = await open();
    const socket = connect(console.server.port, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${console.server.port}\r\n\r\n`.repeat(500));
    const answers = (await text(socket).catch(() => '')).split('HTTP/1.1 ').length - 1;
    assert.ok(answers <= 1, `${answers} answers`);
    assert.equal((await console.ask('/')).status, 200);
  });

  test('silent connections beyond all limits end neither the connection of a page nor keep a new one out', async () => {
    await using console = await open();
    const { authorization = '' } = await console.signIn();
    const page = connect(console.server.port, '127.0.0.1').setEncoding('utf8');
    const ask = async (): Promise<void> => {
      const head = `GET /api/v1/session/none HTTP/1.1\r\nhost: 127.0.0.1:${console.server.port}\r\n`;
      page.write(`${head}authorization: ${authorization}\r\n\r\n`);
      let answer = '';
      while (!answer.includes('\r\n\r\n')) answer += String((await once(page, 'data'))[0]);
      assert.match(answer, /^HTTP\/1\.1 404 /);
    };
    await ask();
    const silent = Array.from({ length: 300 }, () => connect(console.server.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    await ask();
    assert.equal((await console.ask('/api/v1/overview', { headers: { authorization } })).status, 200);
    for (const socket of [page, ...silent]) socket.destroy();
  });

  test('sends a content security policy with each answer, errors included', async () => {
    await using console = await open();
    for (const path of ['/', '/none', '/api/v1/overview']) {
      const { headers } = await console.ask(path);
      assert.match(String(headers['content-security-policy'] ?? ''), /^default-src 'none';.*require-trusted-types-for 'script'$/);
      assert.equal(headers['x-content-type-options'], 'nosniff');
    }
  });

  test('lists problems first in the overview, with the advice of the catalogue and the time of the condition', async () => {
    await using console = await open();
    const { body } = await console.ask('/api/v1/overview', { headers: await console.signIn() });
    const [problem] = body['problems'] as readonly Readonly<Record<string, unknown>>[];
    assert.equal(problem?.['object'], 'Listener/billing');
    assert.equal(problem?.['code'], 'no-connector');
    assert.equal(
      problem?.['advice'],
      'Create a Connector, or check the links on the path. If the message names a site, check the link with it.',
    );
    assert.equal(problem?.['since'], '2025-12-31T23:50:00Z');
    assert.deepEqual(body['expiring'], [{ certificate: 'east', days: 3 }]);
  });

  test('gives the path and cost to each site with a connector', async () => {
    await using console = await open();
    const { body } = await console.ask('/api/v1/keys/web', { headers: await console.signIn() });
    assert.deepEqual(body['candidates'], [{ site: 'east-id', name: 'east', connectors: 2, cost: 3, path: ['west', 'hub', 'east'] }]);
  });

  test('gives the paths of a key from each listener to its nearest connector', async () => {
    await using console = await open();
    const { body } = await console.ask('/api/v1/keys/web', { headers: await console.signIn() });
    const [west, hub, east] = ['west', 'hub', 'east'].map((name) => ({ id: `${name}-id`, name }));
    assert.deepEqual(body['paths'], [{ from: west, to: east, cost: 3, path: [west, hub, east] }]);
  });

  test('answers 404 for a connection that no router has', async () => {
    await using console = await open();
    const { status, body } = await console.ask('/api/v1/connections/none', { headers: await console.signIn() });
    assert.deepEqual([status, body['message']], [404, 'no router of this site has a connection with this ID']);
  });

  test('filters, sorts and pages routing keys', async () => {
    await using console = await open();
    const headers = await console.signIn();
    console.state.keys = Array.from({ length: 25 }, (_, at) => ({ key: `key-${at}`, listeners: [], connectors: [], reachable: false }));
    console.state.now += 1_000;
    await console.watcher.read();
    const list = async (query: string): Promise<Readonly<Record<string, unknown>>> =>
      (await console.ask(`/api/v1/keys?${query}`, { headers })).body;
    assert.deepEqual(
      [(await list('q=KEY-2'))['total'], (await list('limit=10'))['next'], (await list('limit=10&cursor=20'))['next']],
      [6, '10', null],
    );
  });

  test('redacts with the function of its sources', async () => {
    const state = memoryState();
    const watcher = memoryWatcher(state);
    await watcher.read();
    const sources = { ...memorySources(state), redacted: () => ({ hidden: true }) };
    await using server = await serveConsole({ sources, watcher, assets: [], port: 0, publicUrls: [] });
    const ask = async (path: string, init: RequestInit): Promise<Readonly<Record<string, unknown>>> =>
      // Answers of the API are objects.
      (await (await fetch(`http://127.0.0.1:${server.port}${path}`, init)).json()) as Readonly<Record<string, unknown>>;
    const { bearer } = await ask('/api/v1/session', { method: 'POST', body: JSON.stringify({ token: tokenOf(server.createLink()) }) });
    const headers = { authorization: `Bearer ${String(bearer)}` };
    assert.equal((await ask('/api/v1/resources/Listener/web', { headers }))['yaml'], 'hidden: true\n');
  });
});

suite('the API of trust', () => {
  test('lists revocations, the latest first, and the serial number of a certificate that another site presents', async () => {
    await using console = await open();
    const headers = await console.signIn();
    console.state.revoked = [
      { name: 'old', at: Date.parse('2025-01-01T00:00:00Z') },
      { name: 'new\u202e', at: Date.parse('2025-02-01T00:00:00Z') },
    ];
    console.state.links = { items: [], incoming: [{ siteId: 'hub-id', siteName: 'hub', address: '192.0.2.1:1', serial: '0A1B' }] };
    console.state.now += 1_000;
    await console.watcher.read();
    assert.deepEqual((await console.ask('/api/v1/revocations', { headers })).body['items'], [
      { name: String.raw`new\u{202e}`, at: '2025-02-01T00:00:00.000Z' },
      { name: 'old', at: '2025-01-01T00:00:00.000Z' },
    ]);
    const links = (await console.ask('/api/v1/network', { headers })).body['links'] as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(links.find(({ direction }) => direction === 'incoming')?.['serial'], '0A1B');
  });

  test('says why revocations cannot be read, instead of showing none', async () => {
    await using console = await open();
    console.state.revoked = new Error('revoked.yaml is damaged');
    const { status, body } = await console.ask('/api/v1/revocations', { headers: await console.signIn() });
    assert.deepEqual([status, body['message']], [404, 'revocations cannot be read: revoked.yaml is damaged']);
  });
});

suite('the API of exposed objects', () => {
  async function openExposed(): Promise<Opened & { get(path: string): Promise<Answer> }> {
    const console = await open();
    console.state.cluster = { objects: exposedObjects(), denied: ['events'] };
    await console.watcher.readExposure();
    await console.watcher.read();
    const headers = await console.signIn();
    return { ...console, get: (path) => console.ask(`/api/v1/${path}`, { headers }) };
  }

  for (const [list, total, first] of [
    ['listeners', 3, 'web'],
    ['pods', 2, 'web-0'],
    ['classes', 2, 'internal'],
  ] as const) {
    test(`lists ${list}, pages them, and says what could not be read`, async () => {
      await using console = await openExposed();
      const { body } = await console.get(`exposure/${list}?limit=1`);
      const [item] = body['items'] as readonly Readonly<Record<string, unknown>>[];
      assert.deepEqual([item?.['name'], body['total'], body['next']], [first, total, '1']);
      assert.deepEqual(body['partial'], [
        { router: '', why: 'Not everything is shown: you have no right to list events in the namespace shop.' },
      ]);
    });
  }

  test('gives one object of each list, and 404 for another name or list', async () => {
    await using console = await openExposed();
    const status = async (path: string): Promise<number> => (await console.get(path)).status;
    const found = ['exposure/listeners/web', 'exposure/pods/web-0', 'exposure/classes/outside'].map(status);
    const missing = ['exposure/listeners/none', 'exposure/none', 'exposure/toString', 'exposure/listeners/web/more'].map(status);
    assert.deepEqual(await Promise.all([...found, ...missing]), [200, 200, 200, 404, 404, 404, 404]);
  });

  test('adds numbers and problems to the overview, which does not miss a Site', async () => {
    await using console = await openExposed();
    console.state.objects = [];
    await console.watcher.read();
    const { body } = await console.get('overview');
    assert.deepEqual(body['exposure'], { listeners: 3, listenersNotReady: 2, pods: 2, podsWaiting: 1 });
    const problems = body['problems'] as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(
      problems.map(({ object }) => object),
      ['listeners.listeners.stackable.tech/cache', 'listeners.listeners.stackable.tech/shop', 'Pod/cache-0'],
    );
  });

  test('is absent without exposed objects, and says where they exist', async () => {
    await using console = await open();
    const headers = await console.signIn();
    const { status, body } = await console.ask('/api/v1/exposure/listeners', { headers });
    assert.equal(status, 404);
    assert.match(String(body['do']), /exposure\.enabled/);
    assert.equal((await console.ask('/api/v1/overview', { headers })).body['exposure'], undefined);
  });
});

suite('a stream of changes', () => {
  async function read(
    opened: Opened,
    headers: Record<string, string>,
    path = '/api/v1/stream',
  ): Promise<{ next(): Promise<string>; end(): void }> {
    const asked = request({ host: '127.0.0.1', port: opened.server.port, path, headers, agent: false });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    const parts = response.setEncoding('utf8')[Symbol.asyncIterator]();
    let rest = '';
    return {
      async next() {
        while (!rest.includes('\n\n')) rest += String((await parts.next()).value);
        const at = rest.indexOf('\n\n');
        const event = rest.slice(0, at);
        rest = rest.slice(at + 2);
        return event;
      },
      end: () => void response.destroy(),
    };
  }

  async function change(opened: Opened, status: string): Promise<void> {
    opened.state.now += 1_000;
    opened.state.objects = opened.state.objects.map((one) => ({ ...one, status: { ...one.status, status } }) as typeof one);
    await opened.watcher.read();
  }

  test('begins with resync, sends changed fields only, and resumes after the last event', async () => {
    await using console = await open();
    const headers = await console.signIn();
    const stream = await read(console, headers, '/api/v1/stream?topics=resources');
    assert.match(await stream.next(), /^id: \S+\nevent: resync\n/);
    await change(console, 'Error');
    const first = await stream.next();
    stream.end();
    const data = JSON.parse(first.slice(first.indexOf('data: ') + 6)) as { changes: Record<string, unknown> };
    assert.deepEqual(data.changes['Listener/billing'], { status: 'Error' });
    await change(console, 'Pending');
    const id = /id: (\S+)/.exec(first)?.[1] ?? '';
    const resumed = await read(console, { ...headers, 'last-event-id': id }, '/api/v1/stream?topics=resources');
    assert.match(await resumed.next(), /"Listener\/billing":\{"status":"Pending"/);
    resumed.end();
  });

  test('says resync to a page that names an event of another process', async () => {
    await using console = await open();
    const stream = await read(console, { ...(await console.signIn()), 'last-event-id': 'other-1' });
    assert.match(await stream.next(), /event: resync/);
    stream.end();
  });

  test('says resync instead of more changes than a page may be behind, and goes on', async () => {
    await using console = await open();
    const headers = await console.signIn();
    const stream = await read(console, headers, '/api/v1/stream?topics=resources');
    const id = /id: (\S+)/.exec(await stream.next())?.[1] ?? '';
    const [some] = console.state.objects;
    assert.ok(some);
    const status = { status: 'Error', message: 'x'.repeat(1_000) };
    console.state.objects = Array.from(
      { length: 2_000 },
      (_, index) => ({ ...some, metadata: { name: `web-${index}` }, status }) as typeof some,
    );
    await console.watcher.read();
    assert.match(await stream.next(), /event: resync/);
    const late = await read(console, { ...headers, 'last-event-id': id }, '/api/v1/stream?topics=resources');
    assert.match(await late.next(), /event: resync/);
    await change(console, 'Pending');
    for (const each of [stream, late]) {
      assert.match(await each.next(), /"status":"Pending"/);
      each.end();
    }
  });

  test('of another page ends one of the page that has all, until both have as many', async () => {
    await using console = await open();
    const [greedy, other] = [await console.signIn(), await console.signIn()];
    await Promise.all(Array.from({ length: 64 }, () => read(console, greedy)));
    const streams = await Promise.all(Array.from({ length: 32 }, () => read(console, other)));
    for (const headers of [greedy, other]) assert.equal((await console.ask('/api/v1/stream', { headers })).status, 503);
    await change(console, 'Error');
    for (const stream of streams) {
      while (!(await stream.next()).includes('"status":"Error"'));
      stream.end();
    }
  });

  test('is refused beyond 64 pages', async () => {
    await using console = await open();
    const headers = await console.signIn();
    const streams = await Promise.all(Array.from({ length: 64 }, () => read(console, headers)));
    assert.equal((await console.ask('/api/v1/stream', { headers })).status, 503);
    for (const stream of streams) stream.end();
  });
});
