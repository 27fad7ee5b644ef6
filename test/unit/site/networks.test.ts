import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouterState } from '../../../src/router/contract.ts';
import type { Capability } from '../../../src/site/capabilities.ts';
import { networkAliases, networkFault, networkRouterName, type NetworkRouter } from '../../../src/site/networks.ts';
import { observeSite } from '../../../src/site/observe/observe.ts';
import { noTrust } from '../../../src/site/observe/trust-facts.ts';
import { planSite, type SitePlan } from '../../../src/site/plan/plan.ts';
import { problemText } from '../../../src/site/problem.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { isLabel } from '../../../src/text/names.ts';
import { aConnector, aLink, aListener, aMaterial, aMultiKeyListener, aRouterAccess, aSite, resources } from './fixtures.ts';

const onNetwork = (network: string): { readonly settings: { readonly network: string } } => ({ settings: { network } });
const site = aSite({ settings: { networks: 'apps, shop_default' } });

function plan(objects: readonly SiteObject[], network?: string, capabilities: readonly Capability[] = ['container-networks']): SitePlan {
  return planSite(resources(...objects), aMaterial({ capabilities: new Set(capabilities), network }));
}

const parts = [
  site,
  aListener('here'),
  aListener('web', { host: 'web', port: 80, ...onNetwork('apps') }),
  aMultiKeyListener('both', { host: '0.0.0.0', port: 81, ...onNetwork('apps') }),
  aListener('shop', { host: 'web', port: 80, ...onNetwork('shop_default') }),
  aConnector('far'),
  aConnector('db', { host: 'db', ...onNetwork('apps') }),
  aLink('east'),
  aRouterAccess('in'),
];

for (const [network, listeners, connectors, links] of [
  [undefined, ['Listener/here'], ['Connector/far'], 1],
  ['apps', ['Listener/web', 'MultiKeyListener/both'], ['Connector/db'], 0],
  ['shop_default', ['Listener/shop'], [], 0],
  ['another', [], [], 0],
] as const) {
  test(`the router of ${network ?? "the machine's own network"} serves its part of the site, and only one has links`, () => {
    const { config, problems } = plan(parts, network);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      config.listeners.map(({ name }) => name),
      listeners,
    );
    assert.deepEqual(
      config.connectors.map(({ name }) => name),
      connectors,
    );
    assert.deepEqual([config.links.length, config.accesses.length], [links, links]);
  });
}

test('a listener in a container network listens at all addresses, whatever name it has', () => {
  for (const { host } of plan(parts, 'apps').config.listeners) assert.equal(host, undefined);
});

test('listeners of one network share no port, since all names lead to its router, and the first keeps it', () => {
  const [first, second] = [aListener('b', { host: 'b', ...onNetwork('apps') }), aListener('a', { host: 'a', ...onNetwork('apps') })];
  const before = plan([site, first]);
  const { problems, heldPorts } = planSite(
    resources(site, first, second),
    aMaterial({ capabilities: new Set(['container-networks']) }),
    before,
  );
  assert.deepEqual(heldPorts, [{ listener: 'Listener/b', host: 'b', port: 8080, network: 'apps' }]);
  assert.deepEqual(
    problems.map(({ resource, code }) => [resource, code]),
    [['Listener/a', 'port-taken-twice']],
  );
  assert.match(problems[0]?.message ?? '', /^Listener b has port 8080 in the network apps, /);
});

for (const [what, object, capabilities, expected] of [
  ['not listed by the Site', aListener('a', onNetwork('other')), ['container-networks'], /^error network .*add it to settings\.networks/],
  ['with a name that cannot be', aListener('a', onNetwork('a b')), ['container-networks'], /^error network .*"a b" cannot be the name/],
  ['without DNS', aConnector('a', onNetwork('podman')), ['container-networks'], /^error network .*containers of podman have no names/],
  ['without a container', aConnector('a', onNetwork('apps')), [], /^error not-on-platform .*--platform podman or docker/],
  ['in a cluster', aConnector('a', onNetwork('apps')), ['services'], /^warning setting .*network: has no effect on Kubernetes/],
  ['with an address', aListener('a', { host: '10.0.0.7', ...onNetwork('apps') }), ['container-networks'], /^error host .*cannot be a name/],
  ['with localhost', aListener('a', { host: 'localhost', ...onNetwork('apps') }), ['container-networks'], /^error host .*cannot be a name/],
] as const) {
  test(`a resource in a network ${what} has a problem that says what to do`, () => {
    const created = plan([site, object], undefined, capabilities);
    const of = created.problems.filter(({ resource }) => resource !== 'Site/west');
    assert.equal(of.length, 1);
    for (const problem of of) assert.match(`${problem.severity} ${problem.code} ${problemText(problem)}`, expected);
    const { listeners, connectors } = plan([site, object], 'apps', capabilities).config;
    assert.equal(listeners.length + connectors.length, 0);
  });
}

for (const [what, networks, capabilities, expected] of [
  ['is usable', 'apps,shop_default,', ['container-networks'], []],
  ['has a bad name and the default bridge', 'apps,-x,bridge', ['container-networks'], ['warning network', 'warning network']],
  ['is on a machine without containers', 'apps', [], ['warning not-on-platform']],
  ['is in a cluster', 'apps', ['services'], ['warning setting']],
] as const) {
  test(`a Site whose list of networks ${what} has ${expected.length} problems`, () => {
    const { problems } = plan([aSite({ settings: { networks } })], undefined, capabilities);
    assert.deepEqual(
      problems.map(({ severity, code }) => `${severity} ${code}`),
      expected,
    );
  });
}

test('the router of a network has its own name and the hosts of the listeners there as aliases', () => {
  const of = (...objects: readonly SiteObject[]): readonly string[] => networkAliases(resources(...objects), 'apps');
  assert.deepEqual(of(...parts, aListener('x', { host: 'Orders.shop', ...onNetwork('apps') })), ['earshot', 'orders.shop', 'web']);
  assert.deepEqual(of(site), ['earshot']);
  assert.deepEqual(of(aSite(), aListener('web', { host: 'web', ...onNetwork('apps') })), []);
});

test('the router of each network has a name that is a DNS label, and no two have the same', () => {
  const networks = ['apps', 'Apps', 'shop_default', 'shop-default', 'x'.repeat(128), `${'x'.repeat(127)}y`, 'a.b'];
  const names = networks.map(networkRouterName);
  assert.equal(new Set(names).size, networks.length);
  for (const name of names) assert.ok(isLabel(name), name);
  assert.equal(names[0], 'net-apps');
  for (const network of ['', 'a/b', '../x', 'a,b', 'x'.repeat(129), 'host', 'podman']) assert.notEqual(networkFault(network), undefined);
});

const web = { listening: true, reachableKeys: ['web'] };
const refused = { code: 'refused', message: 'Connection refused.' } as const;
const reported = (more: object = {}): Partial<RouterState> => ({
  siblingParts: {
    'net-apps': {
      'Listener/web': { listener: { ...web, ...more } },
      'Connector/db': { connector: { matched: true, servers: { kind: 'failing', problem: refused, worked: false } } },
    },
  },
});
const runs: readonly NetworkRouter[] = [{ network: 'apps', router: 'net-apps', aliases: ['earshot', 'web'] }];
const lacking: readonly NetworkRouter[] = [{ network: 'apps', router: 'net-apps', aliases: ['earshot'] }];

for (const [what, router, networkRouters, listener, connector] of [
  ['runs', reported(), runs, /^Ready OK$/, /^Pending Connection refused\.$/],
  [
    'has a port that another process has',
    reported({ listening: false, problem: { code: 'port-in-use', message: 'taken' } }),
    runs,
    /^Error taken$/,
    /./,
  ],
  [
    'does not run',
    {},
    [],
    /^Error the router of the network apps does not run; start/,
    /^Error the router of the network apps does not run/,
  ],
  ['is not linked yet', {}, runs, /^Pending .*is not linked to the other routers/, /^Pending .*is not linked/],
  [
    'has not read it yet',
    { siblingParts: { 'net-apps': {} } },
    runs,
    /^Pending .*does not serve it yet/,
    /^Pending .*does not serve it yet/,
  ],
  [
    'lacks a name',
    reported(),
    lacking,
    /^Pending the router of the network apps does not have the name web there yet; run `earshot -n west system start`/,
    /./,
  ],
] as const) {
  test(`a listener and a connector of a network whose router ${what} say so`, () => {
    const objects = [aSite({ settings: { networks: 'apps' } }), ...parts.filter(({ kind }) => kind === 'Listener' || kind === 'Connector')];
    const all = resources(...objects);
    const idle = { listeners: {}, connectors: {}, links: {}, accesses: {}, incoming: [], network: [] };
    const statuses = observeSite(
      {
        resources: all,
        plan: plan(objects),
        problems: [],
        trust: noTrust,
        reach: { kind: 'direct', hosts: [] },
        controller: { name: 'earshot', namespace: 'west', version: '1' },
        wording: 'codes',
        router: { ...idle, ...router },
        networkRouters,
      },
      new Map(),
      '2026-01-01T00:00:00Z',
    );
    const [ofListener, ofConnector] = [statuses.get('Listener/web'), statuses.get('Connector/db')];
    assert.match(`${ofListener?.status} ${ofListener?.message}`, listener);
    assert.match(`${ofConnector?.status} ${ofConnector?.message}`, connector);
    assert.doesNotMatch(`${statuses.get('Site/west')?.message}`, /shop/);
    const missing = /the router of the network apps does not run/.test(statuses.get('Site/west')?.message ?? '');
    assert.equal(missing, networkRouters.length === 0);
  });
}
