/** Peers that change the keys of a TLS connection or offer to resume it without end, which takes time and yields nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:tls';
import { test } from 'node:test';
import { limitKeyUpdatesOf } from '../../../src/net/key-updates.ts';
import { eventually } from '../../harness/wait.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from '../router/support/certificates.ts';
import { keyChanger, keyChangingServer, ticketServer } from '../router/support/key-updates.ts';
import { connector, echoServer, link, listener, siteConfig, start, until } from '../router/support/site.ts';

const authority = await testAuthority();
const { cert = '', key = '' } = await authority.issue();
const ENDLESS = 10_000;

/** A router with a Listener with TLS, and an echo behind it. */
async function withListener(): Promise<AsyncDisposable & { readonly port: number }> {
  const port = await freePort();
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer());
  const config = { ...siteConfig('west'), listeners: [{ ...listener('key', port), tls: await authority.issue() }] };
  const west = stack.use(await start({ ...config, connectors: [connector('key', echo.port)] }));
  await until(west, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const parts = stack.move();
  return { port, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

for (const [title, make, said] of [
  [
    'a site that a link leads to is ended, and the link says why',
    keyChangingServer,
    /127\.0\.0\.1:\d+ changes the keys of its TLS connection without end/,
  ],
  [
    'so is one that offers without end that the connection may be resumed',
    ticketServer,
    /127\.0\.0\.1:\d+ offers to resume its TLS session without end/,
  ],
] as const)
  test(title, async () => {
    const tls = await authority.issue();
    await using greedy = await make(ENDLESS, { cert, key, ALPNProtocols: ['h2'] });
    await using west = await start({ ...siteConfig('west'), links: [link('east', greedy.port, tls)] });
    await until(west, 'a problem', ({ links }) => links['east']?.problem !== undefined);
    const { code, message = '' } = west.state.links['east']?.problem ?? {};
    assert.equal(code, 'protocol');
    assert.match(message, said);
  });

test('a peer that changes them now and then is served', async () => {
  await using west = await withListener();
  const { port } = west;
  using client = await keyChanger(port, { cert, key });
  client.change(20);
  using other = await keyChanger(port, { cert, key });
  other.tls.write('asked later');
  await once(other.tls, 'data');
  assert.equal(client.tls.destroyed, false);
});

test('a connection to a server that does so is ended', async (t) => {
  const server = createServer({ cert, key });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  using client = await keyChanger(address.port);
  // The client's own key changes stand for those of a server.
  limitKeyUpdatesOf(client.tls);
  const line = Buffer.from('SERVER_TRAFFIC_SECRET_N 00 00\n');
  for (let times = 0; times < 200; times += 1) client.tls.emit('keylog', line);
  await eventually('it to be ended', () => client.tls.destroyed);
});
