import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TLSSocket } from 'node:tls';

import type { ConfigSource, Connection } from '../../../src/kube/client/connection.ts';
import { createClient } from '../../../src/kube/client/client.ts';
import { resource } from '../../../src/kube/resource.ts';
import { freePort } from '../support/free-port.ts';
import { freshCertificate } from '../support/certificate.ts';
import { answer, configMap, failure, RawServer, startChunks, type RawHandler } from './raw-server.ts';
import { eventually } from '../../harness/wait.ts';

const configMaps = resource('v1', 'ConfigMap', 'configmaps');
const key = { namespace: 'default', name: 'a' };
const ok: RawHandler = (_request, socket) => answer(socket, 200, configMap('a', '1'));

/** Settings that the test changes, as files on disk would. */
class Settings implements ConfigSource {
  readonly name = 'test';
  readonly namespace = undefined;
  loads = 0;
  broken = false;
  now: Connection;

  constructor(now: Connection) {
    this.now = now;
  }

  load(): Promise<Connection> {
    this.loads++;
    return this.broken ? Promise.reject(new Error('half written')) : Promise.resolve(this.now);
  }

  client(options: { readonly reloadAfter?: number; readonly refreshPause?: number } = {}): ReturnType<typeof createClient> {
    return createClient({ config: this, userAgent: 'test/1', fieldManager: 'tester', refreshPause: 0, ...options });
  }
}

describe('a token', () => {
  it('goes with each request, and is not read again for each', async () => {
    await using server = await RawServer.start(ok);
    const settings = new Settings({ server: server.url, token: 'one' });
    await using client = settings.client();
    await client.get(configMaps, key);
    await client.get(configMaps, key);
    assert.deepEqual(
      server.requests.map(({ headers }) => headers['authorization']),
      ['Bearer one', 'Bearer one'],
    );
    assert.equal(settings.loads, 1);
  });

  it('that was replaced is taken up once the settings are old, on the same connections', async () => {
    await using server = await RawServer.start(ok);
    const settings = new Settings({ server: server.url, token: 'one' });
    await using client = settings.client({ reloadAfter: 0 });
    await client.get(configMaps, key);
    settings.now = { server: server.url, token: 'two' };
    for (let i = 0; i < 4; i++) await client.get(configMaps, key);
    assert.equal(server.requests.at(-1)?.headers['authorization'], 'Bearer two');
    assert(server.connections <= 2);
  });

  it('that is refused is read again at once, and a write is repeated with the new one', async () => {
    await using server = await RawServer.start((request, socket) => {
      if (request.headers['authorization'] === 'Bearer two') ok(request, socket);
      else answer(socket, 401, failure(401, 'Unauthorized', 'Unauthorized'));
    });
    const settings = new Settings({ server: server.url, token: 'one' });
    await using client = settings.client();
    await assert.rejects(client.get(configMaps, key), { status: 401 });
    assert.equal(server.requests.length, 1);
    settings.now = { server: server.url, token: 'two' };
    await client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } });
    assert.equal(server.requests.length, 3);
  });

  it('that cannot be read for a moment is no reason to stop', async () => {
    await using server = await RawServer.start(ok);
    const settings = new Settings({ server: server.url, token: 'one' });
    await using client = settings.client({ reloadAfter: 0 });
    await client.get(configMaps, key);
    settings.broken = true;
    await client.get(configMaps, key);
    assert(settings.loads >= 2);
  });
});

describe('a certificate', () => {
  it('of an authority that is not trusted is refused, and nothing is sent', async () => {
    await using server = await RawServer.start(ok, freshCertificate());
    await using client = new Settings({ server: server.url, ca: freshCertificate().ca, token: 'secret' }).client();
    await assert.rejects(client.get(configMaps, key), { code: 'kube-unreachable', sent: false });
    assert.equal(server.requests.length, 0);
  });

  it('of another authority after a restart is followed, by requests and by watches', async () => {
    const before = freshCertificate();
    const after = freshCertificate();
    const settings = new Settings({ server: '' });
    await using first = await RawServer.start(ok, before, await freePort());
    settings.now = { server: first.url, ca: before.ca };
    await using client = settings.client();
    await client.get(configMaps, key);
    const { port } = first;
    await first[Symbol.asyncDispose]();

    await using second = await RawServer.start(
      (request, socket) => {
        if (request.query.has('watch')) startChunks(socket);
        else ok(request, socket);
      },
      after,
      port,
    );
    const watch = { from: { after: '1' }, timeoutSeconds: 60, onEvent: () => undefined };
    await assert.rejects(client.watch(configMaps, watch), { code: 'kube-unreachable' });
    settings.now = { server: second.url, ca: after.ca };
    assert.equal((await client.get(configMaps, key)).metadata.name, 'a');
    const stop = new AbortController();
    const watching = client.watch(configMaps, { ...watch, signal: stop.signal });
    await eventually('the watch', () => second.requests.some(({ query }) => query.has('watch')));
    stop.abort(new Error('enough'));
    await assert.rejects(watching, /enough/);
  });

  it('of another authority is followed by a watch that fails first', async () => {
    const before = freshCertificate();
    const after = freshCertificate();
    await using server = await RawServer.start((_request, socket) => startChunks(socket), after);
    const settings = new Settings({ server: server.url, ca: before.ca });
    await using client = settings.client();
    const stop = new AbortController();
    const watch = { from: { after: '1' }, timeoutSeconds: 60, onEvent: () => undefined, signal: stop.signal };
    await assert.rejects(client.watch(configMaps, watch), { code: 'kube-unreachable' });
    settings.now = { server: server.url, ca: after.ca };
    await assert.rejects(client.watch(configMaps, watch), { code: 'kube-unreachable' });
    const watching = client.watch(configMaps, watch);
    await eventually('the watch', () => server.requests.length === 1);
    stop.abort(new Error('enough'));
    await assert.rejects(watching, /enough/);
  });

  it('that changes lets requests under way end on their old connection', async () => {
    const held: (() => void)[] = [];
    const certificate = freshCertificate();
    const hold: RawHandler = (request, socket) => void held.push(() => ok(request, socket));
    await using server = await RawServer.start(hold, certificate);
    const settings = new Settings({ server: server.url, ca: certificate.ca });
    await using client = settings.client({ reloadAfter: 0 });
    const slow = client.get(configMaps, key);
    await eventually('the request', () => held.length === 1);
    settings.now = { server: server.url, ca: certificate.ca + freshCertificate().ca };
    const next = client.get(configMaps, key);
    await eventually('another request', () => held.length === 2);
    for (const release of held) release();
    await Promise.all([slow, next]);
    assert.equal(server.connections, 2);
    await eventually('the old connection is closed', () => server.open === 1);
  });

  it("of the client's own is shown to the server", async () => {
    const own = freshCertificate();
    const certificate = freshCertificate();
    const shown: boolean[] = [];
    const asking = { ...certificate, requestCert: true, ca: own.ca };
    await using server = await RawServer.start((request, socket) => {
      shown.push(socket instanceof TLSSocket && socket.authorized);
      ok(request, socket);
    }, asking);
    const settings = new Settings({ server: server.url, ca: certificate.ca, cert: own.cert, key: own.key });
    await using client = settings.client();
    await client.get(configMaps, key);
    assert.deepEqual(shown, [true]);
  });

  it('that is not checked is taken where the kubeconfig says so', async () => {
    await using server = await RawServer.start(ok, freshCertificate());
    await using client = new Settings({ server: `${server.url}/prefix/`, insecureSkipVerify: true }).client();
    await client.get(configMaps, key);
    assert.equal(server.requests[0]?.path, '/prefix/api/v1/namespaces/default/configmaps/a');
  });
});
