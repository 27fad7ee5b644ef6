/** Admission to the API of a router in a cluster: real TLS, and hostile clients. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { request, type RequestOptions } from 'node:https';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { IncomingMessage } from 'node:http';
import { pino } from 'pino';
import { serveRouterApiByTls, type ApiServer } from '../../../src/agent/api/serve-tls.ts';
import type { CertificatePurpose } from '../../../src/identity/certificate-purpose.ts';
import type { IssuedBundle } from '../../../src/identity/tls-bundle.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { authorityOf } from '../../../src/trust/authority.ts';
import { buildRoot, issueBundle } from '../../../src/trust/issue.ts';
import type { Authority } from '../../../src/trust/contract.ts';
import { writePem } from '../../../src/x509/pem.ts';
import { createKey } from '../../../src/x509/request.ts';
import { readCertificates } from '../../../src/x509/facts.ts';
import { eventually } from '../../harness/wait.ts';
import { keyChanger } from '../router/support/key-updates.ts';
import { quietApi } from '../support/router-api.ts';
import { waitForClose } from '../support/wait-for-close.ts';

const HOST = 'skupper-router-local';
const local = authority('local CA');
const ofSite = authority('site CA');
const shown = issue(local, 'link', { hosts: [HOST], server: true });
const good = issue(local, 'api');
const revoked = issue(local, 'api');

let server: ApiServer;
before(async () => {
  server = await serve();
});
after(() => server[Symbol.asyncDispose]());

test('a client with a certificate for the API is answered, and can only read', async () => {
  assert.deepEqual(await ask('/v1/self', good), { status: 200, body: { router: 'one', ready: true } });
  for (const path of ['/v1/reload', '/v1/stop']) {
    const { status, body } = await ask(path, good, { method: 'POST' });
    assert.deepEqual([status, body.code, String(body.do).includes(path)], [404, 'not-found', false]);
  }
});

test('only a certificate of the purpose api-control may end connections, and it may read too', async () => {
  const { status, body } = await ask('/v1/connections/a1', good, { method: 'DELETE' });
  assert.deepEqual([status, body.code], [403, 'tls-wrong-purpose']);
  assert.match(String(body.do), /settings\.purpose: api-control/);
  const control = issue(local, 'api-control');
  assert.equal((await ask('/v1/self', control)).status, 200);
  assert.equal((await ask('/v1/links', control, { method: 'DELETE' })).status, 405);
  // The router has no records.
  assert.deepEqual((await ask('/v1/connections/a1', control, { method: 'DELETE' })).body.code, 'not-found');
});

for (const [who, bundle, code] of [
  ["of the site's routers", shown, 'tls-wrong-purpose'],
  ['of an application', issue(local, 'application'), 'tls-wrong-purpose'],
  ['that names no purpose', issue(local, undefined), 'tls-wrong-purpose'],
  ['that is revoked', revoked, 'revoked'],
] as const) {
  test(`a certificate ${who} is refused, and the client receives the reason`, async () => {
    const { status, body } = await ask('/v1/self', bundle);
    assert.deepEqual([status, body.code], [403, code]);
    assert.match(String(body.do), /settings\.purpose: api/);
  });
}

for (const [who, bundle] of [
  ['a client without a certificate', undefined],
  ['a linked site', issue(ofSite, 'link')],
  ['a client with the API purpose from another authority', issue(authority('local CA'), 'api')],
] as const) {
  test(`${who} is refused before it can send a request`, async () => {
    await assert.rejects(ask('/v1/self', bundle));
    assert.equal((await ask('/v1/self', good)).status, 200);
  });
}

test('older TLS is refused', async () => {
  await assert.rejects(ask('/v1/self', good, { maxVersion: 'TLSv1.2' }));
});

test('a client that keeps changing the keys of its connection is disconnected and logged', async () => {
  const lines: string[] = [];
  // On a slow machine, that takes longer than the usual timeout.
  await using own = await serve({ milliseconds: 60_000 }, pino({}, { write: (line: string) => void lines.push(line) }));
  const { cert, key } = good;
  using greedy = await keyChanger(own.port, { cert, key });
  greedy.change(10_000);
  await eventually('it to be ended', () => greedy.tls.destroyed);
  const { level, address, reason } = JSON.parse(lines.find((line) => line.includes('keys')) ?? '{}') as Readonly<Record<string, unknown>>;
  assert.deepEqual([level, address], [40, greedy.address]);
  assert.match(String(reason), /changes the keys of its TLS connection without end/);
});

test('a thousand silent connections do not keep out clients of other addresses, and are ended', async () => {
  // Nothing but eviction ends them.
  await using own = await serve({ milliseconds: 600_000, handshakes: 32, handshakesOfAddress: 16 });
  let earlier: readonly Promise<void>[] = [];
  for (let batch = 0; batch < 10; batch += 1) {
    const some = Array.from({ length: 100 }, () => quietly(connect({ port: own.port, host: '127.0.0.1', localAddress: '127.0.0.2' })));
    const ends = some.map(waitForClose);
    await Promise.all(some.map((socket) => once(socket, 'connect')));
    // They take the slots of the earlier ones, which end then. If more wait to be accepted, the system drops packets.
    await Promise.all(earlier);
    earlier = ends;
  }
  assert.equal((await ask('/v1/self', good, {}, own.port)).status, 200);
  await own[Symbol.asyncDispose]();
  await Promise.all(earlier);
});

test('one client that holds many connections loses its own, and another is answered', async () => {
  await using own = await serve({ connections: 6, connectionsOfClient: 4 });
  const oldest = await secure(good, own.port);
  const held = await Promise.all(Array.from({ length: 3 }, () => secure(good, own.port)));
  const ended = waitForClose(oldest);
  assert.equal((await ask('/v1/self', good, {}, own.port)).status, 200);
  await ended;
  assert.equal((await ask('/v1/self', issue(local, 'api'), {}, own.port)).status, 200);
  assert.deepEqual(
    held.map(({ destroyed }) => destroyed),
    [false, false, false],
  );
  for (const socket of held) socket.destroy();
});

for (const [what, sent] of [
  ['a body that never comes', 'POST /v1/self HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\nx'],
  ['a body without an end', 'GET /v1/self HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n'],
  ['fields without an end', `GET /v1/self HTTP/1.1\r\n${'a: b\r\n'.repeat(4_000)}`],
  ['a line that is no request', '\0\r\n\r\n'],
] as const) {
  test(`${what} is not waited for`, async () => {
    const socket = await secure(good);
    const ended = waitForClose(socket);
    socket.resume();
    socket.write(sent);
    await ended;
  });
}

test('a request that is not finished, and a handshake that is not, end when their time is over', async () => {
  await using own = await serve({ milliseconds: 1_000 });
  const slow = await secure(good, own.port);
  slow.resume().write('GET /v1/self HTTP/1.1\r\nhost: a\r\n');
  const mute = quietly(connect(own.port, '127.0.0.1'));
  await Promise.all([waitForClose(slow), waitForClose(mute)]);
});

test('a new certificate and a new authority count for those that come', async () => {
  await using own = await serve();
  const next = authority('next local CA');
  own.setTls(issue(next, 'link', { hosts: [HOST], server: true }));
  await assert.rejects(ask('/v1/self', good, {}, own.port));
  const now = issue(next, 'api');
  assert.equal((await ask('/v1/self', now, {}, own.port)).status, 200);
  const socket = await secure(now, own.port);
  assert.equal(socket.getProtocol(), 'TLSv1.3');
  socket.destroy();
});

function serve(
  limits: Parameters<typeof serveRouterApiByTls>[1]['limits'] = {},
  log = createLogger({ level: 'silent', component: 'test' }),
): Promise<ApiServer> {
  const api = quietApi();
  const [{ facts }] = readCertificates(revoked.cert, 'it');
  return serveRouterApiByTls(api, {
    port: 0,
    host: '127.0.0.1',
    tls: shown,
    revoked: () => ({ sites: [], serials: [facts.serial] }),
    log,
    limits,
  });
}

async function ask(
  path: string,
  bundle: IssuedBundle | undefined,
  more: RequestOptions = {},
  port = server.port,
): Promise<{ readonly status: number | undefined; readonly body: Readonly<Record<string, unknown>> }> {
  const asked = request({ ...trusting(bundle), host: '127.0.0.1', port, path, agent: false, ...more });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const { router, ready, code, do: remedy } = JSON.parse(await text(response)) as Readonly<Record<string, unknown>>;
  const told = Object.entries({ router, ready, code, do: remedy }).filter(([, value]) => value !== undefined);
  return { status: response.statusCode, body: Object.fromEntries(told) };
}

async function secure(bundle: IssuedBundle, port = server.port): Promise<TLSSocket> {
  const socket = connectTls({ ...trusting(bundle), host: '127.0.0.1', port });
  quietly(socket);
  await once(socket, 'secureConnect');
  return socket;
}

function quietly<T extends Socket>(socket: T): T {
  socket.on('error', () => {}).resume();
  return socket;
}

/** It knows both authorities that there are: it is the router that decides. */
function trusting(bundle: IssuedBundle | undefined): {
  readonly cert?: string;
  readonly key?: string;
  readonly rejectUnauthorized: boolean;
  readonly servername: string;
} {
  return { ...(bundle === undefined ? {} : { cert: bundle.cert, key: bundle.key }), rejectUnauthorized: false, servername: HOST };
}

function authority(name: string): Authority {
  const key = createKey();
  const cert = writePem('CERTIFICATE', buildRoot(name, createPrivateKey(key), 1, Date.now()));
  return authorityOf({ name, cert, key, ca: cert }, name, Date.now);
}

function issue(
  by: Authority,
  purpose: CertificatePurpose | undefined,
  more: { readonly hosts?: readonly string[]; readonly server?: boolean } = {},
): IssuedBundle {
  return issueBundle(by, 'it', { subject: 'it', client: true, ...more, ...(purpose === undefined ? {} : { purpose }) });
}
