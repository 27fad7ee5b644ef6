import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  startNginx,
  startSite,
  untilRefused,
} from './harness/index.ts';

const PAGE = ['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/'];

test('a site in the middle of a row carries between its neighbours, and the listener follows its state', async (t) => {
  await using net = await createNetwork({
    hosts: ['west', 'middle', 'east'],
    segments: { left: ['west', 'middle'], right: ['middle', 'east'] },
    test: t,
  });
  const client = net.host('west');
  const [east, middle, west] = await Promise.all([
    startSite(net.host('east'), { access: true, resources: [connector('web', '127.0.0.1', 80)] }),
    startSite(net.host('middle'), { access: true }),
    startSite(client, { resources: [listener('web', '0.0.0.0', 8080)] }),
  ]);
  await startNginx(net.host('east'), { port: 80 });
  await linkByToken(middle, east);
  await linkByToken(west, middle);

  await t.test('a page passes through', async () => {
    await west.waitFor('Listener', 'web');
    assert.equal(await client.run(PAGE), 'hello from east\n');
    assert.ok((await middle.metric('earshot_router_transit_connections_total')) >= 1);
  });

  await t.test('all three sites know of each other', async () => {
    for (const site of [west, middle, east]) await site.waitFor('Site', site.name, ({ sitesInNetwork }) => sitesInNetwork === 3);
    const seen = await west.earshot(['network']);
    for (const name of ['west', 'middle', 'east']) assert.match(seen, new RegExp(`^${name} \\(`, 'm'));
  });

  await t.test('made an edge site it carries no more, and made an ordinary one it does again', async () => {
    await middle.apply(manifest('Site', 'middle', { linkAccess: 'default', edge: true }));
    await west.waitFor('Listener', 'web', 'Pending');
    await untilRefused(client, PAGE);
    await middle.apply(manifest('Site', 'middle', { linkAccess: 'default', edge: false }));
    await west.waitFor('Listener', 'web');
    assert.equal(await client.run(PAGE), 'hello from east\n');
  });

  await t.test('killed, it takes the listener with it', async () => {
    await middle.kill9();
    await west.waitFor('Listener', 'web', 'Pending');
    await untilRefused(client, PAGE);
    await west.waitFor('Site', 'west', ({ sitesInNetwork }) => sitesInNetwork === 1);
    await east.waitFor('Connector', 'web', ({ hasMatchingListener }) => hasMatchingListener === false);
  });

  await t.test('back again, it brings the listener back by itself', async () => {
    await middle.start();
    // Earlier records of links in the middle may make the west ready too soon.
    await eventually('the middle to have both links', async () => (await middle.metric('earshot_router_links')) === 2);
    await west.waitFor('Listener', 'web');
    assert.equal(await client.run(PAGE), 'hello from east\n');
    await east.waitFor('Connector', 'web', ({ hasMatchingListener }) => hasMatchingListener === true);
  });
});
