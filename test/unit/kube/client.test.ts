import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';

import { ApiError, TransportError } from '../../../src/kube/errors.ts';
import { resource, services } from '../../../src/kube/resource.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { freePort } from '../support/free-port.ts';
import { answer, configMap, failure, RawServer, type RawHandler } from './raw-server.ts';
import { eventually } from '../../harness/wait.ts';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const configMaps = resource<ConfigMap>('v1', 'ConfigMap', 'configmaps');
const listeners = resource('listeners.stackable.tech/v1alpha1', 'Listener', 'listeners');
const nodes = resource('v1', 'Node', 'nodes', 'cluster');
const key = { namespace: 'default', name: 'a' };
const ok: RawHandler = (_request, socket) => answer(socket, 200, configMap('a', '1'));

/** Answers with one handler after the other; the last one repeats. */
function inTurn(...handlers: readonly RawHandler[]): RawHandler {
  let next = 0;
  return (request, socket) => handlers[Math.min(next++, handlers.length - 1)]?.(request, socket);
}

describe('the client: what it sends', () => {
  it('gets an object of the core group and of a named group', async () => {
    await using server = await RawServer.start(ok);
    await using client = server.client();
    const object = await client.get(configMaps, key);
    await client.get(listeners, key);
    await client.get(nodes, { name: 'n' });
    assert.equal(object.metadata.name, 'a');
    assert.deepEqual(
      server.requests.map(({ method, path }) => `${method} ${path}`),
      [
        'GET /api/v1/namespaces/default/configmaps/a',
        'GET /apis/listeners.stackable.tech/v1alpha1/namespaces/default/listeners/a',
        'GET /api/v1/nodes/n',
      ],
    );
    assert.equal(server.requests[0]?.headers['user-agent'], 'test/1');
  });

  it('asks which kinds a group has, and a group that does not exist has none', async () => {
    const kinds: RawHandler = (_request, socket) => answer(socket, 200, { kind: 'APIResourceList', resources: [{ name: 'listeners' }, 7] });
    const none: RawHandler = (_request, socket) => answer(socket, 404, '404 page not found');
    await using server = await RawServer.start(inTurn(kinds, kinds, none));
    await using client = server.client();
    const classes = resource('listeners.stackable.tech/v1alpha1', 'ListenerClass', 'listenerclasses', 'cluster');
    assert.deepEqual([await client.serves(listeners), await client.serves(classes), await client.serves(listeners)], [true, false, false]);
    assert.equal(server.requests[0]?.path, '/apis/listeners.stackable.tech/v1alpha1');
  });

  it('sends a server-side apply with the type filled in, the field manager and force', async () => {
    await using server = await RawServer.start(ok);
    await using client = server.client();
    await client.apply(configMaps, { metadata: { namespace: 'default', name: 'a' }, data: { x: 'ü' } });
    const [sent] = server.requests;
    assert.equal(sent?.method, 'PATCH');
    assert.equal(sent.headers['content-type'], 'application/apply-patch+yaml');
    assert.deepEqual(
      [...sent.query],
      [
        ['fieldManager', 'tester'],
        ['force', 'true'],
      ],
    );
    assert.deepEqual(JSON.parse(sent.body), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'a' },
      data: { x: 'ü' },
    });
  });

  it('patches a status with the content type of the patch', async () => {
    await using server = await RawServer.start(ok);
    await using client = server.client();
    for (const type of ['merge', 'json'] as const) {
      await client.patch(listeners, key, { status: {} }, { type, subresource: 'status', fieldManager: 'other' });
    }
    assert.deepEqual(
      server.requests.map(({ path, query, headers }) => [path.split('/').at(-1), query.get('fieldManager'), headers['content-type']]),
      [
        ['status', 'other', 'application/merge-patch+json'],
        ['status', 'other', 'application/json-patch+json'],
      ],
    );
  });

  it('deletes with preconditions', async () => {
    await using server = await RawServer.start((_request, socket) => answer(socket, 200, { kind: 'Status', status: 'Success' }));
    await using client = server.client();
    await client.delete(configMaps, key, { uid: 'u' });
    assert.equal(server.requests[0]?.method, 'DELETE');
    assert.deepEqual(JSON.parse(server.requests[0].body), { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' } });
  });

  for (const name of ['', '.', '..', 'a/b', '../../secrets/x', '\ud800']) {
    it(`refuses the name ${JSON.stringify(name)} before anything is sent`, async () => {
      await using server = await RawServer.start(ok);
      await using client = server.client();
      await assert.rejects(client.get(configMaps, { namespace: 'default', name }), { code: 'kube-name' });
      await assert.rejects(client.get(configMaps, { namespace: name, name: 'a' }), { code: 'kube-name' });
      await assert.rejects(client.patch(configMaps, { namespace: name, name }, {}, { type: 'merge' }), { code: 'kube-name' });
      assert.equal(server.requests.length, 0);
    });
  }

  it('gets logs of pods, also those of the run before, and pages of their HTTP servers', async () => {
    await using server = await RawServer.start((_request, socket) => answer(socket, 200, {}));
    await using client = server.client();
    await client.log(key, { container: 'c', lines: 5 });
    await client.log(key, { container: 'c', lines: 5, previous: true });
    await client.getFromPod(key, { port: 9090, page: 'metrics' });
    assert.deepEqual(
      server.requests.map(({ path, query }) => `${decodeURIComponent(path)}?${query}`),
      [
        '/api/v1/namespaces/default/pods/a/log?container=c&tailLines=5',
        '/api/v1/namespaces/default/pods/a/log?container=c&tailLines=5&previous=true',
        '/api/v1/namespaces/default/pods/a:9090/proxy/metrics?',
      ],
    );
  });

  it('takes an error of a pod for its answer, and an error of the API server for an error', async () => {
    const refused = failure(403, 'Forbidden', 'cannot get resource "pods/proxy"');
    const notReady: RawHandler = (_request, socket) => answer(socket, 503, 'no link is up');
    await using server = await RawServer.start(inTurn(notReady, (_request, socket) => answer(socket, 403, refused)));
    await using client = server.client();
    const asked = { port: 9090, page: 'readyz' };
    assert.equal(await client.getFromPod(key, asked), 'no link is up');
    await assert.rejects(client.getFromPod(key, asked), /cannot get resource "pods\/proxy"/);
  });

  it('escapes what a name or a selector holds', async () => {
    const emptyList: RawHandler = (_request, socket) => answer(socket, 200, { metadata: { resourceVersion: '1' }, items: [] });
    await using server = await RawServer.start(inTurn(ok, emptyList));
    await using client = server.client();
    await client.get(configMaps, { namespace: 'default', name: 'a?b#c%2f\r\nd' });
    await client.page(configMaps, { labelSelector: 'a=b,c in (d,e)', fieldSelector: 'spec.nodeName=n&m' });
    assert.equal(server.requests[0]?.path, '/api/v1/namespaces/default/configmaps/a%3Fb%23c%252f%0D%0Ad');
    assert.equal(server.requests[1]?.query.get('labelSelector'), 'a=b,c in (d,e)');
    assert.equal(server.requests[1]?.query.get('fieldSelector'), 'spec.nodeName=n&m');
  });

  it('refuses a namespace for a cluster-scoped kind, and none for a namespaced one', async () => {
    await using server = await RawServer.start(ok);
    await using client = server.client();
    await assert.rejects(client.get(nodes, { namespace: 'default', name: 'n' }), /cluster-scoped/);
    await assert.rejects(client.get(configMaps, { name: 'n' }), /needs a namespace/);
  });
});

describe('the client: answers that are no success', () => {
  it('distinguishes a missing object from a missing kind', async () => {
    await using server = await RawServer.start(
      inTurn(
        (_request, socket) => answer(socket, 404, failure(404, 'NotFound', 'configmaps "a" not found')),
        (_request, socket) => answer(socket, 404, '404 page not found\n'),
        (_request, socket) => answer(socket, 404, { code: 404, reason: 'NotFound', message: 'a proxy speaks' }),
      ),
    );
    await using client = server.client();
    assert.equal(await client.find(configMaps, key), undefined);
    await assert.rejects(client.find(configMaps, key), { code: 'kube-api', status: 404, reason: '' });
    await assert.rejects(client.find(configMaps, key), { code: 'kube-api', status: 404, reason: '' });
  });

  it("carries the server's words, cleaned for a log line", async () => {
    await using server = await RawServer.start((_request, socket) =>
      answer(socket, 422, failure(422, 'Invalid', `spec.ports:\n\u001b[31mRequired${'x'.repeat(5_000)}`)),
    );
    await using client = server.client();
    const error = await client.create(services, { metadata: { namespace: 'default', name: 'a' } }).catch((cause: unknown) => cause);
    assert(error instanceof ApiError);
    assert.match(error.message, /^create Service default\/a: spec\.ports: \\u\{1b\}\[31mRequiredx+… \(422 Invalid\)$/);
    assert(error.message.length < 2_200);
  });

  it('takes an answer that is no JSON, or no object, for malformed', async () => {
    const names = ['{"metadata":{"name":"a/b","resourceVersion":"1"}}', '{"metadata":{"name":7}}'];
    for (const body of ['<html>', '[]', '{}', '{"metadata":[]}', 'null', '', ...names]) {
      await using server = await RawServer.start((_request, socket) => answer(socket, 200, body));
      await using client = server.client();
      await assert.rejects(client.get(configMaps, key), { name: 'TransportError', code: 'kube-malformed' }, body);
    }
  });
});

describe('the client: tries again', () => {
  it('after 429, for every verb, once Retry-After has passed', async () => {
    const refusal = failure(429, 'TooManyRequests', 'slow down');
    const busy: RawHandler = (_request, socket) => answer(socket, 429, refusal, { 'retry-after': '0' });
    await using server = await RawServer.start(inTurn(busy, ok));
    const codes: string[] = [];
    await using client = server.client({ onRequest: (verb, of, code) => codes.push(`${verb} ${of} ${code}`) });
    await client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } });
    assert.deepEqual(codes, ['create configmaps 429', 'create configmaps 200']);
  });

  it('after 429 no more than five times', async () => {
    await using server = await RawServer.start((_request, socket) => answer(socket, 429, 'busy', { 'retry-after': '0' }));
    await using client = server.client();
    await assert.rejects(client.get(configMaps, key), { status: 429, retryAfterSeconds: 0 });
    assert.equal(server.requests.length, 5);
  });

  it('hands a long Retry-After to the caller', async () => {
    await using server = await RawServer.start((_request, socket) => answer(socket, 429, 'busy', { 'retry-after': '60' }));
    await using client = server.client();
    await assert.rejects(client.get(configMaps, key), { status: 429, retryAfterSeconds: 60 });
    assert.equal(server.requests.length, 1);
  });

  it('after 503 with Retry-After where repeating is harmless, but not for a create', async () => {
    const down: RawHandler = (_request, socket) => answer(socket, 503, 'down', { 'retry-after': '0' });
    await using server = await RawServer.start(inTurn(down, ok, down, ok));
    await using client = server.client();
    await client.get(configMaps, key);
    await assert.rejects(client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } }), { status: 503 });
    assert.equal(server.requests.length, 3);
  });

  it('a read whose connection was reset before any answer, once', async () => {
    const reset: RawHandler = (_request, socket) => socket.resetAndDestroy();
    await using server = await RawServer.start(inTurn(reset, ok, reset));
    await using client = server.client();
    assert.equal((await client.get(configMaps, key)).metadata.name, 'a');
    await assert.rejects(client.get(configMaps, key), { code: 'kube-cut', sent: true, answered: false });
    assert.equal(server.requests.length, 4);
  });

  it('never a write whose connection was reset', async () => {
    await using server = await RawServer.start((_request, socket) => socket.resetAndDestroy());
    await using client = server.client();
    const object = { metadata: { namespace: 'default', name: 'a' } };
    const writes = [
      client.create(configMaps, object),
      client.apply(configMaps, object),
      client.patch(configMaps, key, {}, { type: 'merge' }),
      client.delete(configMaps, key),
    ];
    await Promise.all(writes.map((write) => assert.rejects(write, { code: 'kube-cut' })));
    assert.equal(server.requests.length, 4);
  });

  it('not where half an answer had arrived', async () => {
    await using server = await RawServer.start((_request, socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"metadata":');
    });
    await using client = server.client();
    await assert.rejects(client.get(configMaps, key), { code: 'kube-cut', answered: true });
    assert.equal(server.requests.length, 1);
  });
});

describe('the client: connections', () => {
  it('reports a request as not sent if the connection is refused', async () => {
    const server = await RawServer.start(ok, undefined, await freePort());
    await using client = server.client();
    await server[Symbol.asyncDispose]();
    const error = await client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } }).catch((cause: unknown) => cause);
    assert(error instanceof TransportError);
    assert.deepEqual([error.code, error.sent], ['kube-unreachable', false]);
  });

  it('reuses connections for consecutive requests', async () => {
    await using server = await RawServer.start(ok);
    await using client = server.client();
    for (let i = 0; i < 6; i++) await client.get(configMaps, key);
    // Undici takes a connection into use again one turn of the event loop after its answer: two take turns.
    assert(server.connections <= 2);
  });

  it('opens no more connections than it may, and lets the rest wait', async () => {
    const held: (() => void)[] = [];
    await using server = await RawServer.start((_request, socket) => void held.push(() => answer(socket, 200, configMap('a', '1'))));
    await using client = server.client({ connections: 2 });
    const calls = Array.from({ length: 6 }, () => client.get(configMaps, key));
    for (let served = 0; served < 6; served += 2) {
      await eventually('two requests', () => held.length === 2);
      assert.equal(server.requests.length, served + 2);
      for (const release of held.splice(0)) release();
    }
    await Promise.all(calls);
    assert.equal(server.connections, 2);
  });

  it('lets no number of watches keep a request waiting', async () => {
    await using server = await RawServer.start((request, socket) => {
      if (request.query.has('watch')) socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      else answer(socket, 200, configMap('a', '1'));
    });
    const stop = new AbortController();
    await using client = server.client({ connections: 1 });
    const watches = Array.from({ length: 5 }, () =>
      client.watch(configMaps, { from: { after: '1' }, timeoutSeconds: 60, signal: stop.signal, onEvent: () => undefined }),
    );
    await eventually('five watches', () => server.requests.length === 5);
    assert.equal((await client.get(configMaps, key)).metadata.name, 'a');
    stop.abort(new Error('enough'));
    for (const watch of watches) await assert.rejects(watch, /enough/);
  });

  it('gives up at the deadline, whether the request waits for an answer or for a place', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using server = await RawServer.start(() => undefined);
    await using client = server.client({ connections: 1, requestTimeout: 60_000 });
    const sent = client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } });
    const waiting = client.get(configMaps, key);
    const ends = Promise.all([
      assert.rejects(sent, { code: 'kube-timeout', sent: true }),
      assert.rejects(waiting, { code: 'kube-timeout', sent: false }),
    ]);
    await eventually('the request', () => server.requests.length === 1);
    t.mock.timers.tick(60_000);
    await ends;
    assert.equal(server.requests.length, 1);
  });

  it("rejects with the signal's reason, in flight and in the queue, and frees the place", async () => {
    await using server = await RawServer.start((request, socket) => {
      if (request.path.endsWith('/b')) answer(socket, 200, configMap('b', '1'));
    });
    await using client = server.client({ connections: 1 });
    const stop = new AbortController();
    const sent = client.get(configMaps, key, { signal: stop.signal });
    const waiting = client.get(configMaps, key, { signal: stop.signal });
    const other = client.get(configMaps, { namespace: 'default', name: 'b' });
    await eventually('the request', () => server.requests.length === 1);
    stop.abort(new RangeError('stop'));
    await Promise.all([assert.rejects(sent, RangeError), assert.rejects(waiting, RangeError)]);
    assert.equal((await other).metadata.name, 'b');
    await assert.rejects(client.get(configMaps, key, { signal: stop.signal }), RangeError);
    assert.equal(server.requests.length, 2);
  });

  it('leaves no listener on a signal that outlives its requests', async () => {
    await using server = await RawServer.start(ok);
    await using client = server.client({ connections: 1 });
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 3 }, () => client.get(configMaps, key, { signal })));
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });

  it('ends everything under way when it is closed, and takes nothing more', async () => {
    await using server = await RawServer.start(() => undefined);
    const client = server.client();
    const call = client.get(configMaps, key);
    await eventually('the request', () => server.requests.length === 1);
    await Promise.all([assert.rejects(call, TransportError), client[Symbol.asyncDispose]()]);
    await assert.rejects(client.get(configMaps, key), { code: 'kube-closed' });
    await eventually('no connection', () => server.open === 0);
  });
});

describe('the client: lists', () => {
  it('fetches pages as they are consumed, and gives items their type', async () => {
    await using server = await RawServer.start((request, socket) => {
      const page = Number(request.query.get('continue') ?? 0);
      const next = page < 2 ? { continue: String(page + 1) } : {};
      const items = [{ metadata: { name: `n${page}`, resourceVersion: '1' } }];
      answer(socket, 200, { metadata: { resourceVersion: '9', ...next }, items });
    });
    await using client = server.client();
    const seen: string[] = [];
    for await (const node of client.list(nodes)) {
      seen.push(`${node.kind} ${node.metadata.name} after ${server.requests.length}`);
    }
    assert.deepEqual(seen, ['Node n0 after 1', 'Node n1 after 2', 'Node n2 after 3']);
    assert.equal(server.requests[0]?.query.get('limit'), '500');
  });

  it('goes on with the token that the server offers in place of an expired one', async () => {
    await using server = await RawServer.start((request, socket) => {
      const token = request.query.get('continue');
      if (token === null) answer(socket, 200, { metadata: { resourceVersion: '9', continue: 'old' }, items: [] });
      else if (token === 'old') answer(socket, 410, failure(410, 'Expired', 'too old', { metadata: { continue: 'new' } }));
      else answer(socket, 200, { metadata: { resourceVersion: '12' }, items: [configMap('a', '11')] });
    });
    await using client = server.client();
    const seen = await Array.fromAsync(client.list(configMaps));
    assert.deepEqual(
      seen.map(({ metadata }) => metadata.name),
      ['a'],
    );
  });
});
