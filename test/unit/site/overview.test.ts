import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SiteRecord } from '../../../src/api/skupper/index.ts';
import { networkOverview, siteOverview } from '../../../src/site/overview.ts';
import { aConnector, aLink, aListener, aSite } from './fixtures.ts';

test('an overview has the site, then each kind of which there is something, by name', () => {
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

test('of several Sites the one that runs comes first, also where its name does not', () => {
  const condition = { type: 'Configured', status: 'False', reason: 'SecondSite', message: '', lastTransitionTime: '' } as const;
  const second = { ...aSite({}, 'alpha'), status: { conditions: [condition] } };
  const names = siteOverview([second, aSite()]).sites.map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['west', 'alpha']);
});

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
