import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';
import type { RouterConfig } from '../../../src/router/contract.ts';

const ca = await testAuthority();
const server = siteConfig('server');

/** One of two routers of a site that can be linked to at its own address. */
const part = async (router: string, port: number): Promise<RouterConfig> => ({
  ...server,
  router,
  accesses: [access(await ca.issue())],
  connectors: [connector('key', port)],
});

test('a stopping router has its links opened elsewhere first, and no client notices', async () => {
  await using echo = await echoServer('hello');
  await using one = await start(await part('one', echo.port));
  await using two = await start(await part('two', echo.port));
  const [port, atOne, atTwo] = [await freePort(), await accessPort(one), await accessPort(two)];
  const { endpoints: first, ...rest } = link('to-server', atOne, await ca.issue());
  const { endpoints: second } = link('to-server', atTwo, await ca.issue());
  const links = [{ ...rest, endpoints: [...first, ...second] }];
  await using client = await start({ ...siteConfig('client'), links, listeners: [listener('key', port)] });
  await until(client, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  const missed: string[] = [];
  client.onChange(() => {
    const { links: seen, listeners } = client.state;
    if (seen['to-server']?.operational !== true) missed.push('link');
    if (listeners['Listener/key']?.listening !== true) missed.push('listener');
  });
  one.leave();
  await until(client, 'the other end', (state) => state.links['to-server']?.endpoint?.endsWith(`:${atTwo}`) === true);
  // A router that goes gives others some time for that.
  await until(client, 'what two has', ({ network }) => network.some(({ router, keys }) => router === 'two' && keys.length > 0));
  await one.drain(1_000);
  assert.equal(await ask(port, ''), 'hello');
  assert.deepEqual(missed, []);
});

test('a link without an alternative stays until the router stops', async () => {
  await using echo = await echoServer('hello');
  await using one = await start(await part('one', echo.port));
  const port = await freePort();
  const links = [link('to-server', await accessPort(one), await ca.issue())];
  await using client = await start({ ...siteConfig('client'), links, listeners: [listener('key', port)] });
  await until(client, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  one.leave();
  await until(client, 'the refusal', (state) => state.links['to-server']?.problem?.code === 'draining');
  assert.equal(client.state.links['to-server']?.operational, true);
  assert.equal(await ask(port, ''), 'hello');
});

test('a link that is being made when a router begins to go is opened elsewhere, too', async () => {
  await using echo = await echoServer('hello');
  await using one = await start(await part('one', echo.port));
  await using two = await start(await part('two', echo.port));
  const [port, atOne, atTwo] = [await freePort(), await accessPort(one), await accessPort(two)];
  // The second connection of the link to one comes when one has begun to go.
  const sockets: Socket[] = [];
  await using between = createServer((socket) => {
    sockets.push(socket);
    if (sockets.length === 2) one.leave();
    const onward = connect(atOne, '127.0.0.1');
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(between, 'listening');
  // A TCP server that listens has an address.
  const { endpoints: first, ...rest } = link('to-server', (between.address() as AddressInfo).port, await ca.issue());
  const { endpoints: second } = link('to-server', atTwo, await ca.issue());
  await using client = await start({
    ...siteConfig('client'),
    links: [{ ...rest, endpoints: [...first, ...second] }],
    listeners: [listener('key', port)],
  });
  await until(client, 'the link', (state) => state.links['to-server']?.operational === true);
  await until(client, 'the other end', (state) => state.links['to-server']?.endpoint?.endsWith(`:${atTwo}`) === true);
  // A router that goes gives others some time for that.
  await until(client, 'what two has', ({ network }) => network.some(({ router, keys }) => router === 'two' && keys.length > 0));
  await one.drain(1_000);
  assert.equal(await ask(port, ''), 'hello');
  for (const socket of sockets) socket.destroy();
});

test('a router that goes has gone in time, also where its clock is set back meanwhile', { timeout: 20_000 }, async (t) => {
  await using holding = createServer((socket) => socket.on('error', () => {}).write('here')).listen(0, '127.0.0.1');
  await once(holding, 'listening');
  const { port: held } = holding.address() as AddressInfo;
  await using east = await start({ ...siteConfig('east'), accesses: [access(await ca.issue())], connectors: [connector('key', held)] });
  const onward = link('east', await accessPort(east), await ca.issue());
  const middle = await start({ ...siteConfig('middle'), accesses: [access(await ca.issue())], links: [onward] });
  const port = await freePort();
  const links = [link('middle', await accessPort(middle), await ca.issue())];
  await using west = await start({ ...siteConfig('west'), links, listeners: [listener('key', port)] });
  await until(west, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  const client = connect(port, '127.0.0.1').on('error', () => {});
  await once(client, 'data');
  const drained = middle.drain(500);
  const now = Date.now.bind(Date);
  t.mock.method(Date, 'now', () => now() - 3_600_000);
  await drained;
  client.destroy();
});
