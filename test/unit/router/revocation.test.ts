import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { RouterConfig } from '../../../src/router/contract.ts';
import { pathOf, sitesPassed, writeVia } from '../../../src/router/via.ts';
import { ORIGIN_FIELD, ROUTE_FIELD, VIA_FIELD } from '../../../src/router/wire.ts';
import { testAuthority } from './support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { access, accessPort, connector, echoServer, link, listener, greeted, siteConfig, start, until } from './support/site.ts';
import { row } from './support/networks.ts';

const [ONE, TWO] = ['11111111-1111-8111-8111-111111111111', '22222222-2222-8222-8222-222222222222'];

test('each site on the way writes down the one before it, by its hello or its certificate, and its own not at all', () => {
  const named = { serials: [], sites: [ONE, TWO, 'not-an-id'] };
  assert.deepEqual(writeVia({ a: 'b' }, {}, TWO), { a: 'b' });
  assert.deepEqual(writeVia({ a: 'b' }, { site: ONE }, TWO), { a: 'b', [VIA_FIELD]: ONE });
  assert.deepEqual(writeVia({ a: 'b' }, { site: TWO }, TWO), { a: 'b' });
  assert.deepEqual(writeVia({ [VIA_FIELD]: ONE }, { site: TWO, certificate: named }, 'self'), { [VIA_FIELD]: `${ONE} ${TWO}` });
  assert.deepEqual(writeVia({}, { certificate: named }, 'self'), { [VIA_FIELD]: `${ONE} ${TWO}` });
  assert.deepEqual(sitesPassed({}), []);
  assert.deepEqual(sitesPassed({ [ORIGIN_FIELD]: TWO, [VIA_FIELD]: `${ONE} ${TWO}` }), [TWO, ONE, TWO]);
  assert.deepEqual(pathOf({ [ORIGIN_FIELD]: TWO, [ROUTE_FIELD]: `${ONE}/main ${TWO}/b` }), [TWO, `${ONE}/main`, `${TWO}/b`]);
});

/** How a connection ends: with its server's greeting, or without. */
async function fate(port: number): Promise<'greeted' | 'ended'> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    return await Promise.race([once(socket, 'data').then(() => 'greeted' as const), once(socket, 'close').then(() => 'ended' as const)]);
  } catch {
    return 'ended';
  } finally {
    socket.destroy();
  }
}

test('a site that is revoked cannot come in by way of another, and what it has open that way ends at once', async () => {
  await using sites = await row('hello');
  const open = await greeted(sites.port);
  const ended = once(open, 'error');
  sites.right.apply({ ...sites.rightConfig, revoked: { sites: [sites.leftConfig.site.id], serials: [] } });
  const [error] = await ended;
  assert.equal(error.code, 'ECONNRESET');
  assert.equal(await fate(sites.port), 'ended');
  assert.deepEqual(sites.right.state.network.map(({ site }) => site.name).sort(), ['middle', 'right'], 'and it counts as unreachable');
  sites.right.apply(sites.rightConfig);
  assert.deepEqual(sites.right.state.network.map(({ site }) => site.name).sort(), ['left', 'middle', 'right'], 'until that is taken back');
});

test('a revoked site is no destination, and transit for it ends', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer('hello');
  const port = await freePort();
  const middleConfig = {
    ...siteConfig('middle'),
    accesses: [access(await authority.issue())],
    listeners: [listener('key', await freePort())],
  };
  await using middle = await start(middleConfig);
  const at = await accessPort(middle);
  const far: RouterConfig = {
    ...siteConfig('far'),
    accesses: [access(await authority.issue())],
    connectors: [connector('key', echo.port)],
  };
  await using farthest = await start(far);
  const atFar = await accessPort(farthest);
  // One more site between the middle and the far one, so that the revoked site has no neighbour here.
  await using _between = await start({
    ...siteConfig('between'),
    links: [link('middle', at, await authority.issue()), link('far', atFar, await authority.issue())],
  });
  await using client = await start({
    ...siteConfig('client'),
    links: [link('middle', at, await authority.issue())],
    listeners: [listener('key', port)],
  });
  await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  await until(middle, 'its own listener', (state) => state.listeners['Listener/key']?.listening === true);
  const open = await greeted(port);
  const ended = once(open, 'error');
  middle.apply({ ...middleConfig, revoked: { sites: [far.site.id], serials: [] } });
  await ended;
  assert.deepEqual(middle.state.listeners['Listener/key']?.reachableKeys, [], 'its listener has nowhere to go');
  assert.equal(await fate(port), 'ended', 'and others do not pass through');
});

test('a site that changes its name is known by the new one everywhere, with its links as they are', async () => {
  const authority = await testAuthority();
  const config = { ...siteConfig('before'), accesses: [access(await authority.issue())] };
  await using named = await start(config);
  await using other = await start({ ...siteConfig('other'), links: [link('named', await accessPort(named), await authority.issue())] });
  for (const router of [named, other]) await until(router, 'two sites', (state) => state.network.length === 2);
  let downs = 0;
  other.onChange(() => {
    if (other.state.links.named?.operational !== true) downs += 1;
  });
  named.apply({ ...config, site: { ...config.site, name: 'after' } });
  await until(other, 'the new name', (state) => state.network.some(({ site }) => site.name === 'after'));
  assert.deepEqual(named.state.network.map(({ site }) => site.name).sort(), ['after', 'other']);
  assert.equal(downs, 0);
});
