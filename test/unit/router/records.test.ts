/** Records of the same connection at all routers on its path. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { ConnectionRecord, RecordState, Router, RouterConfig } from '../../../src/router/contract.ts';
import { startRouter } from '../../../src/router/router.ts';
import { eventually } from '../../harness/wait.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, greeted, link, listener, quiet, siteConfig, until } from './support/site.ts';

const start = (config: RouterConfig): Promise<Router> => startRouter(config, {}, { log: quiet, records: 100 });

const recordsOf = ({ records }: Router, state: RecordState): readonly ConnectionRecord[] =>
  records?.list({ state, limit: 100 }).items ?? [];

interface Network extends AsyncDisposable {
  readonly port: number;
  readonly left: RouterConfig;
  readonly right: RouterConfig;
  readonly middle: RouterConfig;
  /** From the client to the server. */
  readonly routers: readonly [Router, Router, Router];
}

/** A listener at the left, a connector at the right, and a site in between. */
async function threeSites(server: number): Promise<Network> {
  const authority = await testAuthority();
  const port = await freePort();
  const middle = { ...siteConfig('middle'), accesses: [access(await authority.issue())] };
  const centre = await start(middle);
  const at = await accessPort(centre);
  const links = async (): Promise<Pick<RouterConfig, 'links'>> => ({ links: [link('middle', at, await authority.issue())] });
  const left = { ...siteConfig('left'), ...(await links()), listeners: [listener('key', port)] };
  const right = { ...siteConfig('right'), ...(await links()), connectors: [connector('key', server)] };
  const routers = [await start(left), centre, await start(right)] as const;
  await until(routers[0], 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  return {
    port,
    left,
    middle,
    right,
    routers,
    [Symbol.asyncDispose]: async () => {
      for (const router of routers) await router[Symbol.asyncDispose]();
    },
  };
}

test('an open connection is listed at both ends and in between with one ID, and any of them can end it', async () => {
  await using echo = await echoServer('hello ');
  await using network = await threeSites(echo.port);
  const { left, middle, right, routers } = network;
  const client = await greeted(network.port);
  const reset = once(client, 'error');
  client.write('text');
  for (const router of routers) {
    await eventually('its bytes', () => recordsOf(router, 'open')[0]?.bytes.down === 'hello text'.length);
  }
  const [first, transit, last] = routers.map((router) => recordsOf(router, 'open')[0]);
  assert.deepEqual([transit?.id, last?.id], [first?.id, first?.id]);
  assert.deepEqual([first?.halves, transit?.halves, last?.halves], [['first'], ['transit'], ['last']]);
  for (const record of [first, transit, last]) {
    assert.deepEqual([record?.key, record?.from.site, record?.to.router], ['key', left.site.id, `${right.site.id}/main`]);
    assert.deepEqual(record?.bytes, { up: 4, down: 10 });
  }
  assert.deepEqual(first?.from, { site: left.site.id, siteName: 'left', client: '127.0.0.1', listener: 'Listener/key' });
  assert.deepEqual([first?.via, transit?.via], [[`${middle.site.id}/main`], [`${middle.site.id}/main`]]);
  assert.deepEqual([first?.to.server, last?.to.server], [null, `127.0.0.1:${echo.port}`]);
  assert.ok((first?.ms.connect ?? -1) >= 0 && (first?.ms.firstByte ?? -1) >= (first?.ms.connect ?? 0));
  const [, relay] = routers;
  assert.equal(await relay.records?.end('other'), false);
  assert.equal(await relay.records?.end(first?.id ?? ''), true);
  await reset;
  const ends = await Promise.all(routers.map((router) => eventually('its end', () => recordsOf(router, 'ended')[0])));
  assert.deepEqual(
    ends.map(({ id, end }) => [id, end]),
    [
      [first?.id, 'other-router'],
      [first?.id, 'command'],
      [first?.id, 'other-router'],
    ],
  );
  for (const router of routers) assert.deepEqual(recordsOf(router, 'open'), []);
});

test('an orderly end, a reset by the client and one by the server are recorded as such at all routers', async () => {
  await using echo = await echoServer('hello ');
  await using network = await threeSites(echo.port);
  const { routers } = network;
  const ends = async (count: number): Promise<readonly (string | null)[]> => {
    const last = await Promise.all(
      routers.map((router) =>
        eventually('its end', () => (recordsOf(router, 'ended').length === count ? recordsOf(router, 'ended')[0] : undefined)),
      ),
    );
    return last.map(({ end }) => end);
  };
  await ask(network.port, 'text');
  assert.deepEqual(await ends(1), ['orderly', 'orderly', 'orderly']);
  (await greeted(network.port)).resetAndDestroy();
  assert.deepEqual(await ends(2), ['client-reset', 'client-reset', 'client-reset']);
  const client = await greeted(network.port);
  const reset = once(client, 'error');
  for (const socket of echo.sockets) socket.resetAndDestroy();
  await reset;
  assert.deepEqual(await ends(3), ['server-reset', 'server-reset', 'server-reset']);
});

test('a connection that no server accepts is recorded as failed with its reason at all routers', async () => {
  const closed = await freePort();
  await using network = await threeSites(closed);
  const { routers, right } = network;
  const reset = once(await import('node:net').then(({ connect }) => connect(network.port, '127.0.0.1')), 'error');
  await reset;
  const [first, transit, last] = await Promise.all(
    routers.map((router) => eventually('its failure', () => recordsOf(router, 'failed')[0])),
  );
  assert.deepEqual([first?.end, transit?.end, last?.end], ['peer-refused', 'peer-refused', 'refused']);
  assert.deepEqual([transit?.id, last?.id], [first?.id, first?.id]);
  assert.match(first?.message ?? '', /connection_refused/);
  assert.equal(first?.to.router, `${right.site.id}/main`, 'the router that refused it');
});

test('a router without records has none', async () => {
  await using router = await startRouter(siteConfig('west'), {}, { log: quiet });
  assert.equal(router.records, undefined);
});

test('requests of a client are recorded with the connection and, if the listener permits it, their path', async () => {
  const server = createServer((request, response) => void response.writeHead(request.url === '/a?b' ? 200 : 404).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ports = [await freePort(), await freePort()] as const;
  await using router = await start({
    ...siteConfig('west'),
    // A TCP server that listens has an address.
    connectors: [connector('web', (server.address() as AddressInfo).port)],
    listeners: [
      { ...listener('web', ports[0], { observer: 'auto', requestPaths: true }), name: 'Listener/paths' },
      { ...listener('web', ports[1], { observer: 'auto' }), name: 'Listener/none' },
    ],
  });
  await until(router, 'the listeners', ({ listeners }) => Object.values(listeners).every(({ listening }) => listening));
  for (const [index, path] of ['/a?b', '/c'].entries()) {
    const [response] = (await once(get({ host: '127.0.0.1', port: ports[index], path, agent: false }), 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
  }
  server.close();
  const items = router.records?.listRequests({ limit: 10 }).items ?? [];
  assert.deepEqual(
    items.map(({ method, status, path, protocol }) => [method, status, path, protocol]),
    [
      ['GET', 404, null, 'http1'],
      ['GET', 200, '/a', 'http1'],
    ],
  );
  const ids = await eventually('both connections have ended', () => {
    const ended = recordsOf(router, 'ended').map(({ id }) => id);
    return ended.length === 2 ? ended : undefined;
  });
  assert.deepEqual(new Set(items.map(({ connection }) => connection)), new Set(ids));
});
