import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metrics } from '../../../src/telemetry/metrics.ts';
import { testAuthority } from './support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';

test('a listener in one site reaches a connector in another, whichever of the two opened the link', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer();
  const [portHere, portThere] = [await freePort(), await freePort()];
  const west = {
    ...siteConfig('west'),
    accesses: [access(await authority.issue())],
    connectors: [connector('there', echo.port)],
    listeners: [listener('here', portThere)],
  };
  await using westRouter = await start(west);
  const east = {
    ...siteConfig('east'),
    links: [link('west', await accessPort(westRouter), await authority.issue())],
    connectors: [connector('here', echo.port)],
    listeners: [listener('there', portHere)],
  };
  await using eastRouter = await start(east);
  await until(eastRouter, 'listener in east', (state) => state.listeners['Listener/there']?.listening === true);
  await until(westRouter, 'listener in west', (state) => state.listeners['Listener/here']?.listening === true);
  assert.equal(await ask(portHere, 'over the link'), 'over the link');
  assert.equal(await ask(portThere, 'and back'), 'and back');
  const { figures, ...state } = eastRouter.state.links.west ?? {};
  assert.ok((figures?.bytes.sent ?? 0) > 0);
  assert.deepEqual(state, {
    operational: true,
    attempts: 1,
    remoteSiteId: west.site.id,
    remoteSiteName: 'west',
    endpoint: `127.0.0.1:${westRouter.state.accesses.access?.port}`,
  });
  assert.deepEqual(
    westRouter.state.incoming.map(({ siteName }) => siteName),
    ['east'],
  );
});

test('a router shows its links, its certificates and what passes through it as metrics', async () => {
  const transit = /^earshot_router_transit_connections_total \d+$/m;
  // Tests before this one may have counted in this process.
  const [countBefore] = transit.exec(await metrics.metrics()) ?? [];
  const authority = await testAuthority();
  const bundle = await authority.issue();
  await using west = await start({ ...siteConfig('west'), accesses: [access(bundle)] });
  const config = { ...siteConfig('east'), links: [link('west', await accessPort(west), await authority.issue())] };
  await using east = await start(config);
  await until(east, 'the link', (state) => state.links.west?.operational === true);
  await until(east, 'the other router', (state) => state.network.length === 2);
  await until(west, 'the peer', (state) => state.incoming.length === 1 && state.network.length === 2);
  const text = await metrics.metrics();
  assert.match(text, /^earshot_router_links_sent_bytes_total [1-9]/m);
  assert.match(text, /^earshot_router_links\{direction="outgoing"\} 1$/m);
  assert.match(text, /^earshot_router_links\{direction="incoming"\} 1$/m);
  assert.match(text, /^earshot_router_routers 2$/m);
  assert.deepEqual(
    text.match(/^earshot_router_link_up.*$/gm),
    ['earshot_router_link_up{link="west"} 1'],
    'a site that only accepts links has none',
  );
  for (const { id, name, version } of [config.site, west.state.network[0]?.site ?? config.site])
    assert.ok(text.includes(`\nearshot_router_site_info{site="${id}",name="${name}",version="${version}"} 1\n`), name);
  assert.match(text, new RegExp(`^earshot_router_certificate_days_left\\{bundle="${bundle.name}"\\} 0\\.0`, 'm'));
  assert.match(text, new RegExp(`^earshot_router_link_open_streams\\{site="${config.site.id}",router="main"\\} `, 'm'));
  assert.match(text, /^earshot_router_event_loop_delay_seconds\{quantile="0.99"\} /m);
  assert.notEqual(countBefore, undefined);
  assert.equal(transit.exec(text)?.[0], countBefore);
});

test('a router whose site id is not that of its key does not start', async () => {
  await assert.rejects(start({ ...siteConfig('west'), siteKey: siteConfig('other').siteKey }), { code: 'site-key' });
});

test('a config that is equal to the one before changes nothing', async () => {
  const authority = await testAuthority();
  await using west = await start({ ...siteConfig('west'), accesses: [access(await authority.issue())] });
  const config = { ...siteConfig('east'), links: [link('west', await accessPort(west), await authority.issue())] };
  await using east = await start(config);
  await until(east, 'the link', (state) => state.links.west?.operational === true);
  const before = east.state.network[0]?.links;
  east.apply({ ...config, links: structuredClone(config.links) });
  assert.deepEqual(east.state.network[0]?.links, before);
  assert.equal(east.state.links.west?.operational, true);
});
