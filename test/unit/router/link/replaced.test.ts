import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { Router, RouterConfig } from '../../../../src/router/contract.ts';
import { eventually } from '../../../harness/wait.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, siteConfig, start, until } from '../support/site.ts';

const MINUTE = 60_000;
const authority = await testAuthority();

interface Replaced extends AsyncDisposable {
  /** Has replaced its link to the server by another, under a new certificate of both. */
  readonly client: Router;
  readonly config: RouterConfig;
  /** Of the server's certificate before. */
  readonly serial: string;
  /** A connection over the link before. */
  readonly held: Socket;
}

/** @param to when the server's first certificate ends */
async function replaced(to: Date): Promise<Replaced> {
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer('hello'));
  const port = await freePort();
  const first = await authority.issue({ to });
  const serverConfig = { ...siteConfig('server'), accesses: [access(first)], connectors: [connector('key', echo.port)] };
  const server = stack.use(await start(serverConfig));
  const at = await accessPort(server);
  const base = { ...siteConfig('client'), listeners: [listener('key', port)] };
  const client = stack.use(await start({ ...base, links: [link('server', at, await authority.issue())] }));
  await until(client, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  const held = await greeted(port);
  held.on('error', () => {});
  const before = server.state.incoming[0]?.serial;
  server.apply({ ...serverConfig, accesses: [access(await authority.issue())] });
  const config = { ...base, links: [link('server', at, await authority.issue())] };
  client.apply(config);
  await until(server, 'the new link', ({ incoming }) => incoming.length === 1 && incoming[0]?.serial !== before);
  held.write('still there');
  await once(held, 'data');
  const owned = stack.move();
  return {
    client,
    config,
    serial: new X509Certificate(first.cert ?? '').serialNumber,
    held,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const inTwoMinutes = (): Date => new Date(Date.now() + 2 * MINUTE);

describe('what a link carries that another has replaced', () => {
  it('is ended a minute after the link was taken away', async (t) => {
    await using net = await replaced(inTwoMinutes());
    const ended = once(net.held, 'error');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    net.client.apply({ ...net.config, links: [] });
    t.mock.timers.tick(MINUTE - 1);
    net.held.write('for a minute');
    await once(net.held, 'data');
    t.mock.timers.tick(1);
    // A closed connection may linger for a second.
    t.mock.timers.tick(1_000);
    t.mock.timers.reset();
    await ended;
  });

  it('is no more than an access keeps of a site, for any number of recreated links', async () => {
    await using echo = await echoServer('hello');
    const port = await freePort();
    const tls = await authority.issue();
    // Each has room for itself: of what the server accepts nothing ends for a new link.
    const accesses = Array.from({ length: 20 }, (_, number) => access(tls, { name: `access-${number}` }));
    await using server = await start({ ...siteConfig('server'), accesses, listeners: [listener('key', port)] });
    const base = { ...siteConfig('client'), connectors: [connector('key', echo.port)] };
    await using client = await start(base);
    const held: Socket[] = [];
    for (const { name } of accesses) {
      const before = server.state.incoming[0]?.serial;
      client.apply({ ...base, links: [link('server', await accessPort(server, name), await authority.issue())] });
      await until(server, 'the new link', ({ incoming }) => incoming.length === 1 && incoming[0]?.serial !== before);
      await until(server, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
      const socket = await greeted(port);
      socket.on('error', () => {});
      held.push(socket);
    }
    await eventually('those that came first are ended', () => held.slice(0, 5).every(({ destroyed }) => destroyed));
    assert.ok(held.slice(-10).every(({ destroyed }) => !destroyed));
    for (const socket of held) socket.destroy();
  });

  it('is ended when the certificate under which it began is revoked, and the new link goes on', async () => {
    await using net = await replaced(inTwoMinutes());
    const ended = once(net.held, 'error');
    net.client.apply({ ...net.config, revoked: { sites: [], serials: [net.serial] } });
    await ended;
    assert.equal(net.client.state.links.server?.operational, true);
  });

  it('is ended when that certificate ends, where no other link to the site is left', async (t) => {
    await using net = await replaced(inTwoMinutes());
    const ended = once(net.held, 'error');
    net.client.apply({ ...net.config, links: [] });
    // Intervals are real: a busy machine leaves part of the routing to the next one.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    t.mock.timers.tick(MINUTE);
    net.held.write('until then');
    await once(net.held, 'data');
    t.mock.timers.tick(MINUTE + 1_000);
    await ended;
  });
});
