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
  type Network,
  type Site,
} from './harness/index.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
type Name = (typeof NAMES)[number];
/** Each pair of neighbours has a wire of its own. */
const WIRES = { ab: ['a', 'b'], bc: ['b', 'c'], cd: ['c', 'd'], de: ['d', 'e'], ea: ['e', 'a'] } as const;

/** Every site has a server behind a key of its name, and a listener for each other site's. */
async function startRing(net: Network<Name>): Promise<ReadonlyMap<Name, Site>> {
  const started = await Promise.all(
    NAMES.map(async (name) => {
      const host = net.host(name);
      await startNginx(host, { port: 80 });
      const others = NAMES.filter((other) => other !== name);
      // By a name, which each neighbour knows by the address on the wire that they share.
      const access = manifest('RouterAccess', 'links', {
        roles: [{ name: 'inter-router', port: 55671 }],
        tlsCredentials: 'links',
        generateTlsCredentials: true,
        subjectAlternativeNames: [name],
      });
      const site = await startSite(host, {
        resources: [access, connector(name, '127.0.0.1', 80), ...others.map((other) => listener(other, '127.0.0.1', portOf(other)))],
      });
      return [name, site] as const;
    }),
  );
  const sites = new Map(started);
  for (const [from, to] of Object.values(WIRES)) await linkByToken(siteOf(sites, from), siteOf(sites, to));
  return sites;
}

const portOf = (name: Name): number => 8001 + NAMES.indexOf(name);

function siteOf(sites: ReadonlyMap<Name, Site>, name: Name): Site {
  const site = sites.get(name);
  if (site === undefined) throw new TypeError(`no site ${name}`);
  return site;
}

test('in a ring of five sites everyone reaches everyone by the shorter way, and by the longer one while a wire is cut', async (t) => {
  await using net = await createNetwork({ hosts: NAMES, segments: WIRES, test: t });
  const sites = await startRing(net);
  const site = (name: Name): Site => siteOf(sites, name);
  const passed = async (name: Name): Promise<number> => site(name).metric('earshot_router_transit_connections_total');
  const ask = async (from: Name, to: Name): Promise<string> =>
    net.host(from).run(['curl', '-sS', '--max-time', '10', `http://127.0.0.1:${portOf(to)}/`]);
  /** Sites in between that a connection passes, in alphabetical order. */
  const way = async (from: Name, to: Name): Promise<string> => {
    const before = await Promise.all(NAMES.map(passed));
    assert.equal(await ask(from, to), `hello from ${to}\n`);
    const after = await Promise.all(NAMES.map(passed));
    return NAMES.filter((_, index) => (after[index] ?? 0) > (before[index] ?? 0)).join('');
  };
  const allSeeFive = async (): Promise<void> => {
    for (const name of NAMES) await site(name).waitFor('Site', name, ({ sitesInNetwork }) => sitesInNetwork === 5);
  };

  await t.test('every site reaches the key of every other, by the fewest sites in between', async () => {
    await allSeeFive();
    for (const name of NAMES) for (const other of NAMES) if (other !== name) await site(name).waitFor('Listener', other);
    for (const from of NAMES) {
      for (const to of NAMES) if (to !== from) assert.equal(await ask(from, to), `hello from ${to}\n`);
    }
    await eventually('the way from a to c by b', async () => (await way('a', 'c')) === 'b');
    await eventually('the way from e to b by a', async () => (await way('e', 'b')) === 'a');
    await eventually('the direct path from d to e', async () => (await way('d', 'e')) === '');
  });

  await t.test('with a wire cut it goes the other way round, and no listener closes', async () => {
    await net.host('b').silence('bc');
    await eventually('the way from a to c by d and e', async () => (await way('a', 'c')) === 'de', { timeoutMs: 20_000 });
    await eventually('the way from b to c by a, d and e', async () => (await way('b', 'c')) === 'ade', { timeoutMs: 20_000 });
    await allSeeFive();
    for (const name of NAMES) {
      for (const other of NAMES) if (other !== name) assert.equal((await site(name).status('Listener', other))?.status, 'Ready');
    }
  });

  await t.test('mended, it goes the shorter way again', async () => {
    await net.host('b').restore('bc');
    await eventually('the way from a to c by b', async () => (await way('a', 'c')) === 'b', { timeoutMs: 20_000 });
    await eventually('the direct path from c to b', async () => (await way('c', 'b')) === '');
    await allSeeFive();
  });

  await t.test('cut in two places it falls into two parts, which become one again', async () => {
    await Promise.all([net.host('b').silence('bc'), net.host('e').silence('de')]);
    for (const name of ['a', 'b', 'e'] as const) await site(name).waitFor('Site', name, ({ sitesInNetwork }) => sitesInNetwork === 3);
    for (const name of ['c', 'd'] as const) await site(name).waitFor('Site', name, ({ sitesInNetwork }) => sitesInNetwork === 2);
    await site('a').waitFor('Listener', 'c', 'Pending');
    assert.equal(await ask('a', 'e'), 'hello from e\n');
    assert.equal(await ask('c', 'd'), 'hello from d\n');
    await Promise.all([net.host('b').restore('bc'), net.host('e').restore('de')]);
    await allSeeFive();
    await site('a').waitFor('Listener', 'c');
    assert.equal(await ask('a', 'c'), 'hello from c\n');
  });
});
