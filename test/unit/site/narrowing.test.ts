import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observeSite } from '../../../src/site/observe/observe.ts';
import { noTrust } from '../../../src/site/observe/trust-facts.ts';
import { planSite } from '../../../src/site/plan/plan.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { aLink, aListener, aMaterial, aRouterAccess, aSite, resources, whole } from './fixtures.ts';

const server = { ...whole, name: 'earshot-site-server' };
const bundles = new Map([whole, server].map((bundle) => [bundle.name, bundle]));

function plan(...objects: readonly SiteObject[]) {
  const all = resources(...objects);
  const created = planSite(all, aMaterial({ bundles }));
  const observation = {
    resources: all,
    plan: created,
    problems: [],
    trust: noTrust,
    reach: { kind: 'direct', hosts: ['192.0.2.7'] },
    wording: 'codes',
    controller: { name: 'earshot', namespace: 'west', version: '1' },
  } as const;
  return { config: created.config, statuses: observeSite(observation, new Map(), '2026-01-01T00:00:00Z') };
}

const endpoint = { name: 'inter-router', host: 'hub.example', port: '55671' };
const roles = [{ name: 'inter-router', port: 55671 }];

for (const [what, object, key] of [
  ['routingKeys of a Link', aLink('hub', { endpoints: [endpoint], routingKeys: ['db'] }), 'Link/hub'],
  ['no routingKeys at all of a Link', aLink('hub', { endpoints: [endpoint], routingKeys: [] }), 'Link/hub'],
  ['an endpoint between networks', aLink('hub', { endpoints: [endpoint, { ...endpoint, name: 'inter-network' }] }), 'Link/hub'],
  ['routingKeys of a RouterAccess', aRouterAccess('in', { roles, routingKeys: ['db'] }), 'RouterAccess/in'],
  ['the role inter-network', aRouterAccess('in', { roles: [...roles, { name: 'inter-network' }] }), 'RouterAccess/in'],
  ['the role inter-network alone', aRouterAccess('in', { roles: [{ name: 'inter-network' }] }), 'RouterAccess/in'],
] as const) {
  test(`${what} is refused, and nothing is open instead`, () => {
    const { config, statuses } = plan(aSite(), object);
    assert.deepEqual([config.links, config.accesses], [[], []]);
    assert.equal(statuses.get(key)?.status, 'Error');
    assert.match(statuses.get(key)?.message ?? '', /^spec\..*: this version .*, so it is refused\. Remove the field, or use a version/);
  });
}

test('a Site with a networkId opens and accepts no link, and all say so; what is local goes on', () => {
  const objects = [aLink('hub', { endpoints: [endpoint] }), aRouterAccess('in', { roles }), aListener('web')];
  const { config, statuses } = plan(aSite({ networkId: 'blue', linkAccess: 'default' }), ...objects);
  assert.deepEqual([config.links, config.accesses, config.listeners.length], [[], [], 1]);
  for (const key of ['Site/west', 'Link/hub', 'RouterAccess/in'] as const) {
    assert.equal(statuses.get(key)?.status, 'Error', key);
    assert.match(statuses.get(key)?.message ?? '', /networkId/);
  }
  assert.notEqual(statuses.get('Listener/web')?.status, 'Error');
});

test('without such a field nothing is refused', () => {
  const { config } = plan(aSite({ networkId: '' }), aLink('hub', { endpoints: [endpoint] }), aRouterAccess('in', { roles }));
  assert.equal(config.links.length, 1);
  assert.equal(config.accesses.length, 1);
});
