import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Site, SiteRecord, SiteStatus } from '../../../src/api/skupper/index.ts';
import { observeSite } from '../../../src/site/observe/observe.ts';
import { noTrust } from '../../../src/site/observe/trust-facts.ts';
import { networkOverview, siteOverview } from '../../../src/site/overview.ts';
import { planSite } from '../../../src/site/plan/plan.ts';
import { keyOf, sortResources, type SiteObject } from '../../../src/site/resources.ts';
import { isSurplusSite } from '../../../src/site/surplus-sites.ts';
import { aConnector, aLink, aListener, aMaterial, aSite } from './fixtures.ts';

test('an overview has the site, then each kind with objects, by name', () => {
  const { sites, resources } = siteOverview([aListener('b'), aConnector('c'), aLink('e'), aListener('a'), aSite()]);
  assert.deepEqual(
    sites.map(({ metadata }) => metadata.name),
    ['west'],
  );
  assert.deepEqual(
    resources.map(({ kind, items }) => [kind, items.map(({ metadata }) => metadata.name)]),
    [
      ['Link', ['e']],
      ['Listener', ['a', 'b']],
      ['Connector', ['c']],
    ],
  );
  assert.deepEqual(siteOverview([]), { sites: [], resources: [] });
});

for (const wording of ['codes', 'words'] as const) {
  const running = aSite();
  const all = sortResources([aSite({}, 'alpha'), running, aSite({}, 'zulu')]);
  const material = aMaterial();
  const observed = observeSite(
    {
      resources: all,
      plan: planSite(all, material, { site: running, heldPorts: [] }),
      problems: [],
      trust: noTrust,
      reach: { kind: 'forwarded', addresses: {} },
      controller: { name: 'earshot', namespace: 'west', version: '1' },
      wording,
    },
    new Map(),
    '2026-01-01T00:00:00Z',
  );
  const statusOf = (site: Site): Site => ({ ...site, status: observed.get(keyOf({ ...site, kind: 'Site' })) as SiteStatus });

  for (const [what, seen] of [
    ['with all statuses', all.Site.map(statusOf)],
    ['before a surplus one has a status', all.Site.map((site) => (site === running ? statusOf(site) : site))],
  ] as const) {
    test(`of several Sites the active one comes first ${what}: ${wording}`, () => {
      const objects = seen.map((site): SiteObject => ({ ...site, kind: 'Site' }));
      assert.equal(siteOverview(objects).sites[0]?.metadata.name, 'west');
      assert.deepEqual(seen.map(isSurplusSite), what === 'with all statuses' ? [true, false, true] : [false, false, false]);
    });
  }
}

const west: SiteRecord = {
  id: '1',
  name: 'west',
  namespace: 'n',
  platform: 'linux',
  version: '1',
  links: [
    { name: '17', remoteSiteId: '2', remoteSiteName: 'east', operational: true },
    { name: '18', remoteSiteId: '3', operational: false },
    { name: '19' },
  ],
  services: [
    { routingKey: 'web', connectors: ['r/1', 'r/2'], listeners: [] },
    { routingKey: 'db', connectors: [], listeners: [] },
  ],
};
const east: SiteRecord = { id: '2', name: 'east', namespace: 'n', services: [{ routingKey: 'web', listeners: ['r/1'] }] };

test('a network is its sites with their links and keys, and each key with the sites that use it', () => {
  const { sites, keys } = networkOverview([west, east], { name: 'west', namespace: 'n' });
  assert.deepEqual(sites, [
    {
      id: '1',
      name: 'west',
      namespace: 'n',
      platform: 'linux',
      version: '1',
      isThis: true,
      links: [
        { to: 'east', operational: true },
        { to: '3', operational: false },
        { to: 'an unknown site', operational: true },
      ],
      keys: [
        { routingKey: 'web', connectors: 2, listeners: 0 },
        { routingKey: 'db', connectors: 0, listeners: 0 },
      ],
    },
    {
      id: '2',
      name: 'east',
      namespace: 'n',
      platform: '',
      version: '',
      isThis: false,
      links: [],
      keys: [{ routingKey: 'web', connectors: 0, listeners: 1 }],
    },
  ]);
  assert.deepEqual(keys, [
    { routingKey: 'db', connectorsAt: [], listenersAt: [] },
    { routingKey: 'web', connectorsAt: ['west'], listenersAt: ['east'] },
  ]);
});

for (const [name, self] of [
  ['of the same name in another namespace', { name: 'west', namespace: 'other' }],
  ['without a name', { name: undefined, namespace: 'n' }],
] as const) {
  test(`a site ${name} is not taken for this one`, () => {
    assert.equal(networkOverview([west], self).sites[0]?.isThis, false);
  });
}
