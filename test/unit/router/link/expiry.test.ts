import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connect as connectHttp2 } from 'node:http2';
import { testAuthority } from '../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import type { Router } from '../../../../src/router/contract.ts';
import {
  access,
  accessPort,
  connector,
  echoServer,
  link,
  listener,
  greeted,
  siteConfig,
  start,
  until as untilSo,
} from '../support/site.ts';

/** How long a certificate is valid, milliseconds. Far more than a test takes: what OpenSSL checks, it checks by the machine's clock. */
const LIFE = 600_000;
const SECOND = 1_000;

/** As they are before a test stops the time. */
const [every, stop] = [setInterval, clearInterval];

/** The clock by which certificates end and are looked at stands still, but for what a test lets pass. */
interface Clock {
  /** Lets the time pass until then. All looks of that time have then been made. */
  to(moment: number): void;
  /** While this waits, time goes on: what has taken a router long it puts off to its next look. */
  until(router: Router, what: string, holds: (state: Router['state']) => boolean): Promise<void>;
}

function clockInHand(t: TestContext): Clock {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.now() });
  return {
    to: (moment) => t.mock.timers.tick(moment - Date.now()),
    until: async (router, what, holds) => {
      const goingOn = every(() => t.mock.timers.tick(SECOND), SECOND);
      try {
        await untilSo(router, what, holds);
      } finally {
        stop(goingOn);
      }
    },
  };
}

/** Answer of the server over an existing connection. */
async function echoed(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [data] = await once(socket, 'data');
  return String(data);
}

describe('certificates that end', () => {
  it('a link is cut when the certificate under which it was opened ends, and says so with both times', async (t) => {
    const { to, until } = clockInHand(t);
    const authority = await testAuthority();
    await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
    // Certificates end at whole seconds.
    const end = Date.now() + LIFE;
    const tls = await authority.issue({ to: new Date(end) });
    await using client = await start({ ...siteConfig('client'), links: [link('server', await accessPort(server), tls)] });
    await until(client, 'the link is up', ({ links }) => links.server?.operational === true);
    await until(server, 'the peer is known', ({ incoming }) => incoming.length === 1);
    to(end - 2 * SECOND);
    assert.equal(server.state.incoming.length, 1, 'not before it ends');
    to(end + SECOND);
    assert.deepEqual(server.state.incoming, []);
    await until(client, 'the link is cut', ({ links }) => links.server?.operational === false);
    await until(client, 'the reason', ({ links }) => links.server?.problem?.code === 'tls-expired');
    assert.match(client.state.links.server?.problem?.message ?? '', /expired at \d{4}-.*the clock here is at \d{4}-/);
    assert.deepEqual(server.state.incoming, []);
  });

  it('a connection outlives the certificate under which it began, as long as its site has shown a new one', async (t) => {
    const { to, until } = clockInHand(t);
    const authority = await testAuthority();
    await using echo = await echoServer('hello');
    const port = await freePort();
    await using server = await start({
      ...siteConfig('server'),
      accesses: [access(await authority.issue())],
      connectors: [connector('key', echo.port)],
    });
    const at = await accessPort(server);
    const config = { ...siteConfig('client'), listeners: [listener('key', port)] };
    const [first, second] = [Date.now() + LIFE, Date.now() + 2 * LIFE];
    const old = await authority.issue({ to: new Date(first) });
    await using client = await start({ ...config, links: [link('server', at, old)] });
    await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
    const socket = await greeted(port);
    const ended = once(socket, 'error');
    const renewed = await authority.issue({ to: new Date(second) });
    client.apply({ ...config, links: [link('server', at, renewed)] });
    await until(server, 'a link with the new certificate', ({ incoming }) => incoming.some(({ serial }) => serial.endsWith('3')));
    to(first + SECOND);
    assert.equal(await echoed(socket, 'the first has ended'), 'the first has ended');
    to(second - 2 * SECOND);
    assert.equal(await echoed(socket, 'the second has not'), 'the second has not');
    to(second + SECOND);
    const [error] = await ended;
    assert.equal(error.code, 'ECONNRESET');
  });

  it('a link is reopened before the certificate of the accepting side expires, and its connections continue', async (t) => {
    const { to, until } = clockInHand(t);
    const authority = await testAuthority();
    await using echo = await echoServer('hello');
    const port = await freePort();
    const serverConfig = siteConfig('server');
    const end = Date.now() + LIFE;
    const old = access(await authority.issue({ to: new Date(end) }));
    await using server = await start({ ...serverConfig, accesses: [old], connectors: [connector('key', echo.port)] });
    const at = await accessPort(server);
    await using client = await start({
      ...siteConfig('client'),
      links: [link('server', at, await authority.issue())],
      listeners: [listener('key', port)],
    });
    await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
    const socket = await greeted(port);
    server.apply({ ...serverConfig, accesses: [access(await authority.issue())], connectors: [connector('key', echo.port)] });
    let downs = 0;
    client.onChange(() => {
      if (client.state.links.server?.operational !== true) downs += 1;
    });
    const addresses = (): readonly string[] => server.state.incoming.map(({ address }) => address);
    const before = addresses();
    assert.equal(before.length, 1);
    assert.equal(client.state.linksOpened, 1);
    // In the last quarter of its time.
    to(end - LIFE / 6);
    await until(server, 'another link, and only that', ({ incoming }) => incoming.length === 1 && incoming[0]?.address !== before[0]);
    const after = addresses();
    to(end + 2 * SECOND);
    assert.equal(await echoed(socket, 'still here'), 'still here');
    assert.deepEqual(addresses(), after);
    socket.destroy();
    assert.equal(downs, 0);
    assert.equal(client.state.linksOpened, 2);
  });

  it('a standard client is cut off when its certificate ends', async (t) => {
    const { to } = clockInHand(t);
    const authority = await testAuthority();
    await using echo = await echoServer('hello');
    await using server = await start({
      ...siteConfig('server'),
      accesses: [access(await authority.issue())],
      connectors: [connector('key', echo.port)],
    });
    const end = Date.now() + LIFE;
    const { cert, key, ca } = await authority.issue({ to: new Date(end) });
    const session = connectHttp2(`https://127.0.0.1:${await accessPort(server)}`, { cert: cert ?? '', key: key ?? '', ca: ca ?? '' });
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    session.on('error', () => {});
    session.on('goaway', (_code, _last, data: Buffer) => resolve(data));
    const stream = session.request({ ':method': 'CONNECT', ':authority': 'key' }, { endStream: false });
    stream.on('error', () => {});
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 200);
    to(end + SECOND);
    const debug = await promise;
    assert.match(String(debug), /tls-expired: The certificate of the peer at 127\.0\.0\.1:\d+ expired at/);
  });
});
