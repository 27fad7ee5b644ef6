import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LostConnectors, type SiteView } from '../../../../src/router/local/lost-connectors.ts';
import { there } from './two-sides.ts';

interface World {
  readonly lost: LostConnectors;
  /** Ids of the sites with a connector of the key. */
  sites: readonly string[];
  update(now: number, keys?: readonly string[]): void;
}

function world(facts: { readonly reachable?: readonly string[]; readonly ends?: Readonly<Record<string, string>> } = {}): World {
  const view: SiteView = {
    destinations: () => created.sites.map((site) => there(`${site}/main`)),
    site: (id) => ({ name: `name of ${id}`, isReachable: facts.reachable?.includes(id) === true }),
    linkEnd: (id) => facts.ends?.[id],
  };
  const lost = new LostConnectors('own', view);
  const created: World = { lost, sites: [], update: (now, keys = ['web']) => lost.update(new Set(keys), now) };
  return created;
}

test('a key whose connectors were never reachable has lost none', () => {
  const { lost, update } = world();
  update(1);
  assert.deepEqual(lost.of('web'), []);
});

for (const [what, facts, reason] of [
  [
    'whose link ended is lost with the reason of the link',
    { ends: { east: 'its router stopped.' } },
    'The link with the site ended: its router stopped.',
  ],
  ['that cannot be reached is lost for want of a path', {}, 'The site is no longer reachable.'],
  ['that can be reached has taken its connector away', { reachable: ['east'] }, 'The site no longer has a connector of this routing key.'],
] as const)
  test(`a site ${what}`, () => {
    const it = world(facts);
    it.sites = ['east'];
    it.update(1);
    it.sites = [];
    it.update(2);
    it.update(3);
    assert.deepEqual(it.lost.of('web'), [{ routingKey: 'web', siteId: 'east', siteName: 'name of east', since: 2, reason }]);
  });

test('a site that is back is not lost', () => {
  const it = world();
  for (const sites of [['east'], [], ['east']]) {
    it.sites = sites;
    it.update(1);
  }
  assert.deepEqual(it.lost.of('web'), []);
});

test('this site and keys without a listener are not followed', () => {
  const it = world();
  it.sites = ['own', 'east'];
  it.update(1);
  it.update(2, []);
  it.sites = [];
  it.update(3);
  assert.deepEqual(it.lost.of('web'), []);
});

test('the most recent of many lost sites are kept', () => {
  const it = world();
  for (let number = 0; number < 20; number += 1) {
    it.sites = [`site-${number}`];
    it.update(number);
  }
  assert.deepEqual(
    it.lost.of('web').map(({ siteId }) => siteId),
    [18, 17, 16, 15, 14, 13, 12, 11].map((number) => `site-${number}`),
  );
});

test('a site among more than are followed is lost only once it has no connector, however the sites are ordered', () => {
  const it = world();
  const sites = Array.from({ length: 12 }, (_, number) => `site-${number}`);
  for (let turn = 0; turn < sites.length; turn += 1) {
    it.sites = [...sites.slice(turn), ...sites.slice(0, turn)];
    it.update(turn);
    assert.deepEqual(it.lost.of('web'), []);
  }
  it.sites = sites.slice(1);
  it.update(20);
  assert.deepEqual(
    it.lost.of('web').map(({ siteId }) => siteId),
    ['site-0'],
  );
});
