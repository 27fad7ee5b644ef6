import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { Router, RouterConfig } from '../../../../src/router/contract.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { withOpenFiles } from '../support/open-files.ts';
import { access, accessPort, connector, echoServer, greeted, link, listener, siteConfig, start, until } from '../support/site.ts';
import { standardClient, type StandardClient } from '../support/standard-client.ts';

const authority = await testAuthority();

/** A site whose process may open 1,024 files: 32 of them are for connections of links. */
interface Small extends AsyncDisposable {
  readonly router: Router;
  readonly port: number;
}

/** @param others sites that are linked to it */
async function small(others: number): Promise<Small> {
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer('hello'));
  const config = { ...siteConfig('small'), connectors: [connector('key', echo.port)], accesses: [access(await authority.issue())] };
  const router = stack.use(await withOpenFiles(1_024, () => start(config)));
  const port = await accessPort(router);
  for (let number = 0; number < others; number += 1) stack.use(await linked(siteConfig(`other-${number}`), port));
  const owned = stack.move();
  return { router, port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const withLink = async (config: RouterConfig, port: number): Promise<RouterConfig> => ({
  ...config,
  links: [link('small', port, await authority.issue({ siteId: config.site.id }))],
});

async function linked(config: RouterConfig, port: number): Promise<Router> {
  await using stack = new AsyncDisposableStack();
  const router = stack.use(await start(await withLink(config, port)));
  await until(router, 'the link', ({ links }) => links.small?.operational === true);
  stack.move();
  return router;
}

/** A site that renews its link, each time with a connection that lasts over the one that it has. */
async function renewing(there: Small, renewals: number) {
  await using stack = new AsyncDisposableStack();
  const at = await freePort();
  const base = { ...siteConfig('renewing'), listeners: [listener('key', at)] };
  const here = stack.use(await linked(base, there.port));
  await until(here, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  const held: Socket[] = [];
  stack.defer(() => held.forEach((socket) => socket.destroy()));
  const ofHere = () => there.router.state.incoming.filter(({ siteId }) => siteId === base.site.id);
  let lapses = 0;
  here.onChange(() => void (lapses += here.state.links.small?.operational === true ? 0 : 1));
  for (let renewal = 0; renewal < renewals; renewal += 1) {
    held.push((await greeted(at)).on('error', () => {}));
    const [before] = ofHere();
    here.apply(await withLink(base, there.port));
    const isNew = (): boolean => ofHere().length === 1 && ofHere()[0]?.serial !== before?.serial;
    await until(there.router, `link ${renewal + 1} that takes the place of another`, isNew);
  }
  const owned = stack.move();
  return { site: base.site.id, held, lapses, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** How many connections without a hello it is given, one after the other. */
async function withoutHello(there: Small, siteId: string): Promise<number> {
  const tls = await authority.issue({ siteId });
  const clients: StandardClient[] = [];
  try {
    for (;;) {
      const client = await standardClient(there.port, tls);
      clients.push(client);
      const isServed = new Promise((resolve) => client.session.ping(() => resolve(true)));
      if (!(await Promise.race([isServed, once(client.session, 'goaway').then(() => false)]))) return clients.length - 1;
    }
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
}

describe('where few files may be open', () => {
  it('they are lent to links: with 1,024, fifteen sites are linked', async () => {
    await using there = await small(15);
    assert.equal(there.router.state.incoming.length, 15);
  });

  it('a site renews its link beside twelve others as often as it likes, and its oldest remaining connection is evicted', async () => {
    await using there = await small(12);
    await using here = await renewing(there, 6);
    assert.equal(here.lapses, 0);
    const ended = here.held.filter(({ destroyed }) => destroyed);
    assert.ok(ended.length > 0);
    assert.deepEqual(ended, here.held.slice(0, ended.length));
    const last = here.held.at(-1) as Socket;
    last.write('still there');
    assert.equal(String((await once(last, 'data'))[0]), 'still there');
    assert.equal(there.router.state.incoming.length, 13, 'no other site has lost a link');
  });

  it('connections that say no hello get no more for that than both of a link, and nothing ends for them', async () => {
    await using there = await small(12);
    await using here = await renewing(there, 3);
    const ended = here.held.filter(({ destroyed }) => destroyed).length;
    assert.ok((await withoutHello(there, here.site)) <= 2);
    assert.equal(here.held.filter(({ destroyed }) => destroyed).length, ended);
  });
});
