import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  failuresOf,
  linkByToken,
  listener,
  networkOf,
  startNginx,
  startRequests,
  startSite,
  type Host,
  type Network,
  type Site,
} from './harness/index.ts';

type Name = 'west' | 'left' | 'right' | 'east';

/** West reaches east over left and over right, at the same cost. */
interface Diamond {
  readonly west: Site;
  readonly middles: readonly [Site, Site];
  readonly client: Host;
}

async function startDiamond(net: Network<Name>): Promise<Diamond> {
  const client = net.host('west');
  const [west, left, right, east] = await Promise.all([
    startSite(client, { resources: [listener('web', '0.0.0.0', 8080)] }),
    startSite(net.host('left'), { access: true }),
    startSite(net.host('right'), { access: true }),
    startSite(net.host('east'), { access: true, resources: [connector('web', '127.0.0.1', 80)] }),
  ]);
  await startNginx(net.host('east'), { port: 80 });
  for (const middle of [left, right]) {
    await linkByToken(middle, east);
    await linkByToken(west, middle);
  }
  await west.waitFor('Listener', 'web');
  return { west, middles: [left, right], client };
}

const passed = async (site: Site): Promise<number> => site.metric('earshot_router_transit_connections_total');

/** The one of the two that new connections pass, and the other. */
async function inUse(t: TestContext, { middles, client }: Diamond): Promise<readonly [Site, Site]> {
  const before = await Promise.all(middles.map(passed));
  await client.run(['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/']);
  const after = await Promise.all(middles.map(passed));
  const used = after.findIndex((count, index) => count > (before[index] ?? 0));
  assert.notEqual(used, -1, 'it passed neither');
  t.diagnostic(`connections pass ${middles[used]?.name}`);
  return used === 0 ? middles : [middles[1], middles[0]];
}

/** Both ways are there: each site knows all links. */
async function whole({ west, middles }: Diamond): Promise<void> {
  const sites = [west, ...middles];
  for (const site of sites)
    await eventually(`${site.name} to have its links`, async () => (await site.metric('earshot_router_links')) === 2);
  for (const site of sites) {
    await site.waitFor('Site', site.name, (status) => {
      const records = networkOf(status);
      return records.length === 4 && records.every(({ links = [] }) => links.length === 2);
    });
  }
}

test('service continues when a site on one of two equal paths to a server dies', async (t) => {
  await using net = await createNetwork<Name>({ hosts: ['west', 'left', 'right', 'east'], test: t });
  const diamond = await startDiamond(net);
  const { west, client } = diamond;
  await whole(diamond);
  const requests = await startRequests(client, 'http://127.0.0.1:8080/', { perSecond: 100 });
  await requests.next(20);
  assert.deepEqual(failuresOf(requests.results), []);

  await t.test('killed: no request is refused, and at most the request that was under way is lost', async () => {
    const before = requests.results.length;
    const [victim, other] = await inUse(t, diamond);
    const passedOther = await passed(other);
    await victim.kill9();
    await requests.next(100);
    const since = requests.results.slice(before);
    const failures = failuresOf(since);
    t.diagnostic(`the longest request took ${Math.max(...since.map(({ seconds }) => seconds)).toFixed(2)} s`);
    assert.ok(failures.length <= 1, failures.join('\n'));
    assert.ok((await passed(other)) > passedOther);
    await victim.start();
    await whole(diamond);
  });

  await t.test('silent: it is found by ping, and what waited meanwhile goes the other way', async () => {
    const [victim] = await inUse(t, diamond);
    await victim.host.silence();
    // The request that was under way may have its connection already: that goes on when the path does.
    await using later = await startRequests(client, 'http://127.0.0.1:8080/', { perSecond: 100 });
    await later.next(100);
    const longest = Math.max(...later.results.map(({ seconds }) => seconds));
    t.diagnostic(`the longest request took ${longest.toFixed(1)} s`);
    assert.deepEqual(failuresOf(later.results), []);
    // Three seconds are meant; the bench measures it, on a machine with nothing else to do.
    assert.ok(longest < 12, `${longest} s`);
    assert.equal((await west.status('Listener', 'web'))?.status, 'Ready');
    await victim.host.restore();
    await whole(diamond);
  });

  await t.test('a link that is made dearer loses its traffic, and no request is lost with it', async () => {
    const [used, other] = await inUse(t, diamond);
    const before = requests.results.length;
    // A List of resources, as kubectl prints one.
    const links = JSON.parse(await west.earshot(['link', 'status', '-o', 'json'])) as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    // A link that came of a token is called after the site that issued it.
    const name = links.items.map(({ metadata }) => metadata.name).find((link) => link.startsWith(`${used.name}-`));
    assert.ok(name !== undefined);
    await west.earshot(['link', 'update', name, '--cost', '7']);
    await eventually('connections to pass the other site', async () => (await inUse(t, diamond))[0] === other);
    const passedUsed = await passed(used);
    await requests.next(50);
    assert.equal(await passed(used), passedUsed);
    assert.deepEqual(failuresOf(requests.results.slice(before)), []);
  });
});
