import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouterRecord, RouterState } from '../../../src/router/contract.ts';
import { networkData } from '../../../src/site/observe/bounded-network.ts';
import { siteRecords, toolsStatus, type NetworkSeen } from '../../../src/site/observe/network-status.ts';

function aRecord(site: string, router: string, given: Partial<RouterRecord> = {}): RouterRecord {
  const identity = { id: `id-${site}`, name: site, namespace: site, platform: 'kubernetes', version: '1' };
  return { router, site: identity, edge: false, links: [], keys: [], ...given };
}

const toEast = { name: '7', siteId: 'id-east', siteName: 'east', cost: 2 };
const eastKeys = [
  { routingKey: 'db', connectors: 1, listeners: 0 },
  { routingKey: 'web.pod-1', connectors: 1, listeners: 0 },
  { routingKey: 'webby.pod-1', connectors: 1, listeners: 0 },
  { routingKey: 'web.gone', connectors: 0, listeners: 1 },
];

function seen(network: readonly RouterRecord[]): NetworkSeen {
  const router: RouterState = {
    listeners: {},
    connectors: {},
    links: { 'Link/east': { operational: true, remoteSiteId: 'id-east', remoteSiteName: 'east' }, 'Link/north': { operational: false } },
    accesses: {},
    incoming: [],
    network,
  };
  const tls = { name: 'link' };
  const plan: NetworkSeen['plan'] = {
    config: {
      edge: false,
      listeners: [{ name: 'Listener/db', port: 1024, destination: { kind: 'key', routingKey: 'db' }, observer: 'auto' }],
      connectors: [{ name: 'Connector/web', routingKey: 'web', hosts: ['192.0.2.1', '192.0.2.2'], port: 80 }],
      links: [
        { name: 'Link/east', endpoints: [], cost: 2, tls },
        { name: 'Link/north', endpoints: [], cost: 1, tls },
      ],
      accesses: [],
    },
    selectedPods: new Map([['Connector/web', [{ name: 'web-0', ip: '192.0.2.1' }]]]),
  };
  return { router, plan };
}

const both = [
  aRecord('west', 'one', { links: [toEast], keys: [{ routingKey: 'db', connectors: 0, listeners: 1 }] }),
  aRecord('east', 'other', { keys: eastKeys }),
];

test('a router reports the names of links, listeners and servers of its own site', () => {
  const [own, east] = siteRecords(seen(both));
  assert.deepEqual(own?.links, [
    { name: 'east', remoteSiteId: 'id-east', remoteSiteName: 'east', operational: true },
    { name: 'north', operational: false },
  ]);
  assert.deepEqual(own.services, [
    { routingKey: 'db', connectors: [], listeners: ['db'] },
    { routingKey: 'web', connectors: ['192.0.2.1', '192.0.2.2'], listeners: [] },
  ]);
  assert.deepEqual([east?.id, east?.services?.[0]], ['id-east', { routingKey: 'db', connectors: ['other/1'], listeners: [] }]);
});

test('tools find addresses, sites, and which of these are linked', () => {
  const { addresses, siteStatus } = toolsStatus(seen(both));
  assert.deepEqual(addresses[0], { name: 'db', protocol: 'tcp', listenerCount: 1, connectorCount: 1, startTime: 0, endTime: 0 });
  const [west, east] = siteStatus;
  assert.deepEqual(west?.site, { identity: 'id-west', name: 'west', namespace: 'west', platform: 'kubernetes', siteVersion: '1' });
  const [router] = west.routerStatus;
  assert.deepEqual(router?.['links'], [
    { name: 'east', linkCost: 2, status: 'up', role: 'inter-router', peer: 'id-east' },
    { name: 'north', linkCost: 1, status: 'down', role: 'inter-router', peer: '' },
  ]);
  assert.deepEqual(router['connectors'], [
    { destHost: '192.0.2.1', destPort: '80', address: 'web', process: 'web-0', target: 'web-0' },
    { destHost: '192.0.2.2', destPort: '80', address: 'web', process: '', target: '' },
  ]);
  assert.deepEqual(router['listeners'], [{ name: 'db', destHost: '0.0.0.0', destPort: '1024', protocol: 'tcp', address: 'db' }]);
  assert.deepEqual(east?.routerStatus[0]?.['routerAccess'], [{ identity: 'id-east' }]);
});

test('the routing keys of single pods are those that a server stands behind', () => {
  assert.deepEqual(JSON.parse(networkData(seen(both), ['web'])['pod-keys.json'] ?? ''), ['web.pod-1']);
});

test('a large network is cut: every site is named while there is room, and it is said that something is missing', () => {
  const keys = Array.from({ length: 50 }, (_, index) => ({ routingKey: `${'k'.repeat(100)}${index}`, connectors: 1, listeners: 1 }));
  const others = Array.from({ length: 400 }, (_, index) => aRecord(`site-${index}`, 'router', { keys }));
  const data = networkData(seen([...both, ...others]), []);
  const sites = JSON.parse(data['sites.json'] ?? '') as { readonly services: readonly unknown[] }[];
  assert.equal(sites.length, 402);
  assert.deepEqual([sites[0]?.services.length, sites[2]?.services.length, sites[401]?.services.length], [2, 50, 0]);
  for (const text of Object.values(data)) assert.ok(text.length <= 300_100, `${text.length} characters`);
  assert.match(data['cut'] ?? '', /exceeds the size limit of this object/);
  assert.equal(networkData(seen(both), [])['cut'], '');
});

test('the routing key of a pod whose site is not seen yet is kept where it stood, and only if its Listener still exposes pods', () => {
  const kept = ['web.pod-1', 'web.pod-9', 'gone.pod-1', 'webby.pod-1'];
  assert.deepEqual(JSON.parse(networkData(seen(both), ['web'], kept)['pod-keys.json'] ?? ''), ['web.pod-1', 'web.pod-9']);
});
