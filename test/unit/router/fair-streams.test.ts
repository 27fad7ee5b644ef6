import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { DEFAULT_LIMITS } from '../../../src/http2/limits.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, siteConfig, start, until } from './support/site.ts';

/** Connections that a link takes. */
const MOST = 48;

const authority = await testAuthority();
const GREEDY = ['greedy', 'other'] as const;

test('clients of one key leave room on a link for those of others, at their own site and at each on the way', async () => {
  await using stack = new AsyncDisposableStack();
  const { concurrentStreams } = DEFAULT_LIMITS;
  stack.defer(() => void Object.assign(DEFAULT_LIMITS, { concurrentStreams }));
  Object.assign(DEFAULT_LIMITS, { concurrentStreams: MOST });
  const echo = stack.use(await echoServer('hello'));
  const end = stack.use(
    await start({
      ...siteConfig('end'),
      accesses: [access(await authority.issue())],
      connectors: GREEDY.map((key) => connector(key, echo.port)),
    }),
  );
  const transit = { ...siteConfig('transit'), accesses: [access(await authority.issue())] };
  const middle = stack.use(await start({ ...transit, links: [link('end', await accessPort(end), await authority.issue())] }));
  const ports = { greedy: await freePort(), other: await freePort() };
  const config = { ...siteConfig('begin'), listeners: GREEDY.map((key) => listener(key, ports[key])) };
  const begin = stack.use(await start({ ...config, links: [link('middle', await accessPort(middle), await authority.issue())] }));
  for (const key of GREEDY)
    await until(begin, `the listener of ${key}`, ({ listeners }) => listeners[`Listener/${key}`]?.listening === true);

  const held: Socket[] = [];
  stack.defer(() => held.forEach((socket) => socket.destroy()));
  const served = await fill(ports.greedy, held);
  assert.ok(served >= MOST / 2, `only ${served} are served`);
  held.push((await greeted(ports.other)).on('error', () => {}));
});

test('the first client of another listener is served at each of three sites whose clients of one took all that they could on the way', async () => {
  await using stack = new AsyncDisposableStack();
  const { concurrentStreams } = DEFAULT_LIMITS;
  stack.defer(() => void Object.assign(DEFAULT_LIMITS, { concurrentStreams }));
  Object.assign(DEFAULT_LIMITS, { concurrentStreams: 2 * MOST });
  const echo = stack.use(await echoServer('hello'));
  const ends = { accesses: [access(await authority.issue())], connectors: GREEDY.map((key) => connector(key, echo.port)) };
  const end = stack.use(await start({ ...siteConfig('end'), ...ends }));
  const transit = { ...siteConfig('transit'), accesses: [access(await authority.issue())] };
  const middle = stack.use(await start({ ...transit, links: [link('end', await accessPort(end), await authority.issue())] }));
  const held: Socket[] = [];
  stack.defer(() => held.forEach((socket) => socket.destroy()));
  const others: number[] = [];
  for (const name of ['first', 'second', 'third']) {
    const ports = { greedy: await freePort(), other: await freePort() };
    others.push(ports.other);
    const config = { ...siteConfig(name), listeners: GREEDY.map((key) => listener(key, ports[key])) };
    const tls = await authority.issue({ siteId: config.site.id });
    const begin = stack.use(await start({ ...config, links: [link('middle', await accessPort(middle), tls)] }));
    for (const key of GREEDY)
      await until(begin, `the listener of ${key}`, ({ listeners }) => listeners[`Listener/${key}`]?.listening === true);
    assert.ok((await fill(ports.greedy, held)) > 0);
  }
  for (const port of others) held.push((await greeted(port)).on('error', () => {}));
});

test('a client of each of six listeners is served, though clients of each take all that they can on the way', async () => {
  await using stack = new AsyncDisposableStack();
  const { concurrentStreams } = DEFAULT_LIMITS;
  stack.defer(() => void Object.assign(DEFAULT_LIMITS, { concurrentStreams }));
  Object.assign(DEFAULT_LIMITS, { concurrentStreams: MOST });
  const echo = stack.use(await echoServer('hello'));
  const keys = Array.from({ length: 6 }, (_, number) => `key-${number}`);
  const ends = { accesses: [access(await authority.issue())], connectors: keys.map((key) => connector(key, echo.port)) };
  const end = stack.use(await start({ ...siteConfig('end'), ...ends }));
  const ports: number[] = [];
  for (const _ of keys) ports.push(await freePort());
  const config = { ...siteConfig('begin'), listeners: keys.map((key, number) => listener(key, ports[number] ?? 0)) };
  const begin = stack.use(await start({ ...config, links: [link('end', await accessPort(end), await authority.issue())] }));
  for (const key of keys) await until(begin, `the listener of ${key}`, ({ listeners }) => listeners[`Listener/${key}`]?.listening === true);
  const held: Socket[] = [];
  stack.defer(() => held.forEach((socket) => socket.destroy()));
  const served: number[] = [];
  for (const port of ports) served.push(await fill(port, held));
  assert.ok(Math.min(...served) > 0, `${served.join(', ')} are served`);
});

/** @returns how many are served until three are refused */
async function fill(port: number, held: Socket[]): Promise<number> {
  let served = 0;
  for (let refused = 0; refused < 3;) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const isServed = await new Promise((resolve) => socket.once('data', () => resolve(true)).once('close', () => resolve(false)));
    if (isServed) {
      held.push(socket);
      served += 1;
    } else refused += 1;
  }
  return served;
}
