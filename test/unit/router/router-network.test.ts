import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { RouterConfig, TlsBundle } from '../../../src/router/contract.ts';
import { testAuthority } from './support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, greeted, siteConfig, start, until } from './support/site.ts';
import { pair, row } from './support/networks.ts';

test('a site in between passes connections on, with half-closes and every byte', async () => {
  await using sites = await row();
  const sent = randomBytes(5_000_000).toString('base64');
  assert.equal(digest(await ask(sites.port, sent)), digest(sent));
  assert.deepEqual(sites.left.state.network.map(({ site }) => site.name).sort(), ['left', 'middle', 'right']);
  await until(sites.right, 'the connector is matched', (state) => state.connectors['Connector/key']?.matched === true);
});

test('a reset passes through a site in between as a reset', async () => {
  await using sites = await row('hello');
  const client = await greeted(sites.port);
  const [server] = sites.echo.sockets;
  const failure = once(client, 'error');
  server?.resetAndDestroy();
  const [error] = await failure;
  assert.equal(error.code, 'ECONNRESET');
  assert.equal(sites.right.state.connectors['Connector/key']?.problem, undefined);
});

test('an access for edge sites refuses others, and says so', async () => {
  const authority = await testAuthority();
  await using left = await start({ ...siteConfig('left'), accesses: [access(await authority.issue(), { role: 'edge' })] });
  await using right = await start({ ...siteConfig('right'), links: [link('left', await accessPort(left), await authority.issue())] });
  await until(right, 'the problem', (state) => state.links.left?.problem?.code === 'edge-only');
  assert.equal(right.state.links.left?.operational, false);
});

test('a router that closes ends what passes through it, over links too that new ones have replaced', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello');
  const port = await freePort();
  await using left = await start({
    ...siteConfig('left'),
    accesses: [access(await authority.issue())],
    listeners: [listener('key', port)],
  });
  await using right = await start({
    ...siteConfig('right'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', echo.port)],
  });
  const ports = [await accessPort(left), await accessPort(right)];
  const config = siteConfig('middle');
  const withBundle = (tls: TlsBundle): RouterConfig => ({ ...config, links: ports.map((at) => link(`to-${at}`, at, tls)) });
  await using middle = await start(withBundle(await authority.issue()));
  await until(left, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const held = await greeted(port);
  const serials = [left, right].map(({ state }) => state.incoming[0]?.serial);
  middle.apply(withBundle(await authority.issue()));
  for (const [index, site] of [left, right].entries()) {
    await until(site, 'the new link', ({ incoming }) => incoming.length === 1 && incoming[0]?.serial !== serials[index]);
  }
  const failure = once(held, 'error');
  await middle[Symbol.asyncDispose]();
  const [error] = await failure;
  assert.equal(error.code, 'ECONNRESET');
});

test('a revoked certificate ends its links at once, and receives the reason of its refusal', async () => {
  await using net = await pair(await testAuthority(), 'hello');
  const { server, client, serverConfig } = net;
  const held = await greeted(net.port);
  const cut = once(held, 'error');
  const serials = server.state.incoming.map(({ serial }) => serial);
  server.apply({ ...serverConfig, revoked: { sites: [], serials } });
  await cut;
  assert.deepEqual(server.state.incoming, []);
  await until(client, 'the reason', (state) => state.links.server?.problem?.code === 'revoked' && state.links.server.operational === false);
  await until(client, 'the listener is closed', (state) => state.listeners['Listener/key']?.listening === false);
});

test('a revoked site stays out whatever certificate it shows', async () => {
  const authority = await testAuthority();
  const clientConfig = siteConfig('client');
  await using server = await start({
    ...siteConfig('server'),
    accesses: [access(await authority.issue())],
    revoked: { sites: [clientConfig.site.id], serials: [] },
  });
  await using client = await start({ ...clientConfig, links: [link('server', await accessPort(server), await authority.issue())] });
  await until(client, 'the reason', (state) => state.links.server?.problem?.code === 'revoked');
});

test('two routers of a site are found over their sockets, and a link is with one of them', async () => {
  await using directory = await mkdtempDisposable('/tmp/earshot-siblings-');
  const folder = directory.path;
  const authority = await testAuthority();
  await using echo = await echoServer();
  const port = await freePort();
  const base = siteConfig('both');
  const [one, two] = [`${folder}/one`, `${folder}/two`];
  const shared = await freePort();
  const entry = access(await authority.issue(), { port: shared });
  await using first = await start({
    ...base,
    router: 'one',
    accesses: [entry],
    siblings: { kind: 'unix', socket: one, others: [two], sharesPorts: true },
  });
  await using second = await start({
    ...base,
    router: 'two',
    accesses: [entry],
    connectors: [connector('key', echo.port)],
    siblings: { kind: 'unix', socket: two, others: [one], sharesPorts: true },
  });
  await accessPort(first);
  await accessPort(second);
  await until(first, 'the other router', (state) => state.network.length === 2);
  await using client = await start({
    ...siteConfig('client'),
    listeners: [listener('key', port)],
    links: [link('both', shared, await authority.issue())],
  });
  await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true && state.network.length === 3);
  assert.equal(await ask(port, 'to whichever'), 'to whichever');
});

test('a router that has lost its sibling goes on listening where it did, for the sibling to come back', async (context) => {
  await using directory = await mkdtempDisposable('/tmp/earshot-siblings-');
  const folder = directory.path;
  await using echo = await echoServer('hello');
  const port = await freePort();
  const config = { ...siteConfig('both'), listeners: [listener('key', port)], connectors: [connector('key', echo.port)] };
  const siblings = { kind: 'unix' as const, socket: `${folder}/one`, others: [`${folder}/two`], sharesPorts: true };
  await using router = await start({ ...config, siblings });
  await until(router, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  let closed = false;
  router.onChange(() => {
    closed ||= router.state.listeners['Listener/key']?.listening !== true;
  });
  router.apply(config);
  assert.equal(await ask(port, ''), 'hello');
  assert.equal(closed, false);
  const other = createServer();
  context.after(() => other.close());
  other.listen({ host: '127.0.0.1', port, reusePort: true });
  await once(other, 'listening');
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
