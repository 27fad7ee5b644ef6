import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { DEFAULT_LIMITS } from '../../../src/router/http2/limits.ts';
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
  let refused = 0;
  while (refused < 3) {
    const socket = connect(ports.greedy, '127.0.0.1');
    socket.on('error', () => {});
    const isServed = await new Promise((resolve) => socket.once('data', () => resolve(true)).once('close', () => resolve(false)));
    if (isServed) held.push(socket);
    else refused += 1;
  }
  assert.ok(held.length >= MOST / 2, `only ${held.length} are served`);
  held.push(await greeted(ports.other));
});
