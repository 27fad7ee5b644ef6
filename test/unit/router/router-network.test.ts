import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { RouterConfig, RouterState, TlsBundle } from '../../../src/router/contract.ts';
import { testAuthority } from './support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';

test('a site in between passes connections on, with half-closes and every byte', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer();
  const port = await freePort();
  await using middle = await start({ ...siteConfig('middle'), accesses: [access(await authority.issue())] });
  const at = await accessPort(middle);
  await using left = await start({
    ...siteConfig('left'),
    links: [link('middle', at, await authority.issue())],
    listeners: [listener('key', port)],
  });
  await using right = await start({
    ...siteConfig('right'),
    links: [link('middle', at, await authority.issue())],
    connectors: [connector('key', echo.port)],
  });
  await until(left, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const sent = randomBytes(5_000_000).toString('base64');
  const got = await ask(port, sent);
  assert.equal(digest(got), digest(sent));
  assert.deepEqual(left.state.network.map(({ site }) => site.name).sort(), ['left', 'middle', 'right']);
  await until(right, 'the connector is matched', (state) => state.connectors['Connector/key']?.matched === true);
});

test('a reset passes through a site in between as a reset', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello');
  const port = await freePort();
  await using middle = await start({ ...siteConfig('middle'), accesses: [access(await authority.issue())] });
  const at = await accessPort(middle);
  await using left = await start({
    ...siteConfig('left'),
    links: [link('middle', at, await authority.issue())],
    listeners: [listener('key', port)],
  });
  await using right = await start({
    ...siteConfig('right'),
    links: [link('middle', at, await authority.issue())],
    connectors: [connector('key', echo.port)],
  });
  await until(left, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const client = await greeted(port);
  const [server] = echo.sockets;
  const failure = once(client, 'error');
  server?.resetAndDestroy();
  const [error] = await failure;
  assert.equal(error.code, 'ECONNRESET');
  assert.equal(right.state.connectors['Connector/key']?.problem, undefined);
});

test('an edge site between two others carries nothing', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer();
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
  const edge: RouterConfig = {
    ...siteConfig('edge'),
    edge: true,
    listeners: [listener('key', await freePort())],
    links: [link('left', await accessPort(left), await authority.issue()), link('right', await accessPort(right), await authority.issue())],
  };
  await using middle = await start(edge);
  await until(middle, 'the edge reaches the key', (state) => state.listeners['Listener/key']?.listening === true);
  await until(left, 'left knows the edge', (state) => state.network.length === 2);
  assert.equal(left.state.listeners['Listener/key']?.listening, false);
});

test('an access for edge sites refuses others, and says so', async () => {
  const authority = await testAuthority();
  await using left = await start({ ...siteConfig('left'), accesses: [access(await authority.issue(), { role: 'edge' })] });
  await using right = await start({ ...siteConfig('right'), links: [link('left', await accessPort(left), await authority.issue())] });
  await until(right, 'the problem', (state) => state.links.left?.problem?.code === 'edge-only');
  assert.equal(right.state.links.left?.operational, false);
});

test('traffic takes the cheaper of two links, and the cost changes live', async () => {
  const authority = await testAuthority();
  await using near = await echoServer('near');
  await using far = await echoServer('far');
  const port = await freePort();
  const config = siteConfig('client');
  await using one = await start({
    ...siteConfig('one'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', near.port)],
  });
  await using two = await start({
    ...siteConfig('two'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', far.port)],
  });
  const [tls, ports] = [await authority.issue(), [await accessPort(one), await accessPort(two)] as const];
  const withCosts = (first: number, second: number): RouterConfig => ({
    ...config,
    listeners: [listener('key', port)],
    links: [link('one', ports[0], tls, { cost: first }), link('two', ports[1], tls, { cost: second })],
  });
  await using client = await start(withCosts(1, 5));
  await until(client, 'both connectors', (state) => hasBoth(state) && state.listeners['Listener/key']?.listening === true);
  assert.equal(await ask(port, ''), 'near');
  client.apply(withCosts(9, 5));
  await until(two, 'the new cost is known', (state) =>
    state.network.some(({ site, links }) => site.name === 'one' && links.some(({ cost }) => cost === 9)),
  );
  assert.equal(await ask(port, ''), 'far');
  assert.equal(client.state.links.one?.operational, true);
});

test('service goes on over another path as soon as a link is reset', async () => {
  const authority = await testAuthority();
  await using first = await echoServer('first');
  await using second = await echoServer('second');
  const port = await freePort();
  await using one = await start({
    ...siteConfig('one'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', first.port)],
  });
  await using two = await start({
    ...siteConfig('two'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', second.port)],
  });
  const tls = await authority.issue();
  await using client = await start({
    ...siteConfig('client'),
    listeners: [listener('key', port)],
    links: [link('one', await accessPort(one), tls), link('two', await accessPort(two), tls, { cost: 2 })],
  });
  await until(client, 'both connectors', (state) => hasBoth(state) && state.listeners['Listener/key']?.listening === true);
  assert.equal(await ask(port, ''), 'first');
  await one[Symbol.asyncDispose]();
  await until(client, 'the loss', (state) => state.links.one?.operational === false);
  assert.equal(await ask(port, ''), 'second');
});

test('a link comes back by itself when its site does', async () => {
  const authority = await testAuthority();
  const tls = await authority.issue();
  const config = siteConfig('server');
  const at = await freePort();
  await using server = await start({ ...config, accesses: [access(tls, { port: at })] });
  await using client = await start({ ...siteConfig('client'), links: [link('server', at, await authority.issue())] });
  await until(client, 'the link', (state) => state.links.server?.operational === true);
  await server[Symbol.asyncDispose]();
  await until(client, 'its loss', (state) => state.links.server?.operational === false);
  await using again = await start({ ...config, accesses: [access(tls, { port: at })] });
  await until(client, 'its return', (state) => state.links.server?.operational === true && state.network.length === 2);
  await until(again, 'the peer', (state) => state.incoming.length === 1);
});

test('a link that fell silent at one endpoint goes to the next one first', async () => {
  const authority = await testAuthority();
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
  const at = await accessPort(server);
  using stopped = await proxyThatStops(at);
  const config = link('server', stopped.port, await authority.issue());
  const endpoints = [...config.endpoints, { host: '127.0.0.1', port: at }];
  await using client = await start({ ...siteConfig('client'), links: [{ ...config, endpoints }] });
  await until(client, 'the link', (state) => state.links.server?.endpoint === `127.0.0.1:${stopped.port}`);
  // It goes on to accept connections, and nothing comes of them.
  stopped.stop();
  await until(client, 'the other endpoint', (state) => state.links.server?.endpoint === `127.0.0.1:${at}`);
});

test('a new certificate renews the link without losing a connection', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello');
  const port = await freePort();
  const config = siteConfig('client');
  await using server = await start({
    ...siteConfig('server'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', echo.port)],
  });
  const at = await accessPort(server);
  const withBundle = (tls: TlsBundle): RouterConfig => ({
    ...config,
    listeners: [listener('key', port)],
    links: [link('server', at, tls)],
  });
  await using client = await start(withBundle(await authority.issue()));
  await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const [serial] = server.state.incoming.map((peer) => peer.serial);
  const held = await greeted(port);
  let left = false;
  client.onChange(() => {
    left ||= client.state.listeners['Listener/key']?.listening === false;
  });
  client.apply(withBundle(await authority.issue()));
  await until(
    server,
    'the new certificate',
    (state) => state.incoming.some((peer) => peer.serial !== serial) && state.incoming.length === 1,
  );
  held.end('still here');
  const [said] = await once(held, 'data');
  assert.equal(String(said), 'still here');
  assert.equal(await ask(port, ' anew'), 'hello anew');
  assert.equal(left, false);
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
  const failure = once(held, 'error', { signal: AbortSignal.timeout(5_000) });
  await middle[Symbol.asyncDispose]();
  const [error] = await failure;
  assert.equal(error.code, 'ECONNRESET');
});

test('a revoked certificate ends its links at once, and is told why it stays out', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello');
  const port = await freePort();
  const config: RouterConfig = {
    ...siteConfig('server'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', echo.port)],
  };
  await using server = await start(config);
  const at = await accessPort(server);
  await using client = await start({
    ...siteConfig('client'),
    listeners: [listener('key', port)],
    links: [link('server', at, await authority.issue())],
  });
  await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const held = await greeted(port);
  const cut = once(held, 'error');
  const serials = server.state.incoming.map(({ serial }) => serial);
  server.apply({ ...config, accesses: server.state.accesses.access === undefined ? [] : config.accesses, revoked: { sites: [], serials } });
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

test('two routers of a site are found over their sockets, and a link is with one of them', async (context) => {
  const { mkdtemp, rm } = await import('node:fs/promises');
  const folder = await mkdtemp('/tmp/earshot-siblings-');
  context.after(() => rm(folder, { recursive: true }));
  const authority = await testAuthority();
  await using echo = await echoServer();
  const port = await freePort();
  const base = siteConfig('both');
  const [one, two] = [`${folder}/one`, `${folder}/two`];
  const shared = await freePort();
  const entry = access(await authority.issue(), { port: shared });
  await using first = await start({ ...base, router: 'one', accesses: [entry], siblings: { socket: one, others: [two] } });
  await using second = await start({
    ...base,
    router: 'two',
    accesses: [entry],
    connectors: [connector('key', echo.port)],
    siblings: { socket: two, others: [one] },
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
  const { mkdtemp, rm } = await import('node:fs/promises');
  const folder = await mkdtemp('/tmp/earshot-siblings-');
  context.after(() => rm(folder, { recursive: true }));
  await using echo = await echoServer('hello');
  const port = await freePort();
  const config = { ...siteConfig('both'), listeners: [listener('key', port)], connectors: [connector('key', echo.port)] };
  const siblings = { socket: `${folder}/one`, others: [`${folder}/two`] };
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

test('a router that drains lets connections finish, and takes no new ones', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello');
  const port = await freePort();
  await using server = await start({
    ...siteConfig('server'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', echo.port)],
  });
  await using client = await start({
    ...siteConfig('client'),
    listeners: [listener('key', port)],
    links: [link('server', await accessPort(server), await authority.issue())],
  });
  await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const held = await greeted(port);
  const drained = server.drain(60_000);
  await until(client, 'the listener is closed', (state) => state.listeners['Listener/key']?.listening === false);
  held.end('last');
  const [said] = await once(held, 'data');
  assert.equal(String(said), 'last');
  await drained;
});

/** Both connectors are known, and both their sites say that they have the link: there is a path to each. */
const hasBoth = ({ network }: RouterState): boolean =>
  ['one', 'two'].every((name) =>
    network.some(({ site, keys, links }) => site.name === name && keys.some(({ connectors }) => connectors === 1) && links.length === 1),
  );

interface StoppingProxy extends Disposable {
  readonly port: number;
  /** Nothing passes any more. */
  stop(): void;
}

async function proxyThatStops(to: number): Promise<StoppingProxy> {
  const sockets = new Set<Socket>();
  let stopped = false;
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: to });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', (chunk) => stopped || far.write(chunk));
    far.on('data', (chunk) => stopped || near.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server that listens has an address.
    port: (server.address() as AddressInfo).port,
    stop: () => {
      stopped = true;
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A connection that has heard the server's greeting. */
async function greeted(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'data');
  return socket;
}
