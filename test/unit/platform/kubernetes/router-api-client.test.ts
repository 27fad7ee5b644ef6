/** Requests to the API of routers in pods: through an API server that forwards, and directly. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { serveRouterApiByTls, type ApiServer } from '../../../../src/agent/api/serve-tls.ts';
import type { CertificatePurpose } from '../../../../src/identity/certificate-purpose.ts';
import type { IssuedBundle } from '../../../../src/identity/tls-bundle.ts';
import { RouterApiClient, type OpenApi } from '../../../../src/platform/kubernetes/router-api-client.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { authorityOf } from '../../../../src/trust/authority.ts';
import { buildRoot, issueBundle } from '../../../../src/trust/issue.ts';
import { createKey } from '../../../../src/x509/request.ts';
import { writePem } from '../../../../src/x509/pem.ts';
import { startForwardingApiServer } from '../../support/forwarding-api-server.ts';
import { quietApi } from '../../support/router-api.ts';
import { waitForClose } from '../../support/wait-for-close.ts';

const key = createKey();
const cert = writePem('CERTIFICATE', buildRoot('local CA', createPrivateKey(key), 1, Date.now()));
const local = authorityOf({ name: 'local CA', cert, key, ca: cert }, 'local CA', Date.now);

const issue = (purpose: CertificatePurpose, hosts: readonly string[] = []): IssuedBundle =>
  issueBundle(local, 'it', { subject: 'it', client: true, purpose, ...(hosts.length === 0 ? {} : { hosts, server: true }) });

const serve = (host = 'skupper-router-local'): Promise<ApiServer> =>
  serveRouterApiByTls(quietApi(), {
    port: 0,
    host: '127.0.0.1',
    tls: issue('link', [host]),
    revoked: () => ({ sites: [], serials: [] }),
    log: createLogger({ level: 'silent', component: 'test' }),
  });

/** Counts the connections that it opens. */
function direct(server: Pick<ApiServer, 'port'>): { readonly open: OpenApi; count: number } {
  const opened = {
    count: 0,
    open: async () => {
      opened.count += 1;
      const socket = connect(server.port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  };
  return opened;
}

test('a router in a pod answers through the API server', async () => {
  await using server = await serve();
  await using api = await startForwardingApiServer({ port: server.port });
  using client = new RouterApiClient((name) => api.client.openPort({ namespace: 'west', name }, server.port), issue('api'));
  assert.deepEqual(Reflect.get(Object((await client.ask('router-1', '/v1/self')) ?? {}), 'router'), 'one');
});

test('further requests to a pod use its connection', async () => {
  await using server = await serve();
  const ways = direct(server);
  using client = new RouterApiClient(ways.open, issue('api'));
  for (let count = 0; count < 5; count += 1) await client.ask('router-1', '/v1/self');
  assert.equal(ways.count, 1);
  await client.ask('router-2', '/v1/self');
  assert.equal(ways.count, 2);
});

test('a request whose kept connection has just ended is sent again', async () => {
  await using server = await serve();
  const ways = direct(server);
  const opened: Duplex[] = [];
  const open: OpenApi = async (pod) => {
    const stream = await ways.open(pod);
    opened.push(stream);
    return stream;
  };
  using client = new RouterApiClient(open, issue('api'));
  await client.ask('router-1', '/v1/self');
  opened[0]?.destroy();
  assert.equal(Reflect.get(Object(await client.ask('router-1', '/v1/self')), 'router'), 'one');
  assert.equal(ways.count, 2);
});

test('a certificate of another purpose fails with the reason of the router', async () => {
  await using server = await serve();
  using client = new RouterApiClient(direct(server).open, issue('link'));
  await assert.rejects(client.ask('router-1', '/v1/self'), /has status 403: .*tls-wrong-purpose/);
});

test('a server of another name is not asked', async () => {
  await using server = await serve('other');
  using client = new RouterApiClient(direct(server).open, issue('api'));
  await assert.rejects(client.ask('router-1', '/v1/self'), /skupper-router-local/);
});

test('a pod that is unreachable fails with the reason', async () => {
  using client = new RouterApiClient(() => Promise.reject(new Error('no route')), issue('api'));
  await assert.rejects(client.ask('router-1', '/v1/self'), /no route/);
});

test('a request to a pod that accepts connections and says nothing fails, and its connection ends', { timeout: 20_000 }, async () => {
  const hanging = createServer((socket) => socket.on('error', () => {}).resume());
  hanging.listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  // A TCP server that listens has an address.
  const { port } = hanging.address() as AddressInfo;
  using client = new RouterApiClient(direct({ port }).open, issue('api'), 1_000);
  const ended = once(hanging, 'connection').then(([socket]: Socket[]) => socket && waitForClose(socket));
  try {
    await assert.rejects(client.ask('router-1', '/v1/self'), /router-1 accepts connections and does not answer/);
    await ended;
  } finally {
    hanging.close();
  }
});
