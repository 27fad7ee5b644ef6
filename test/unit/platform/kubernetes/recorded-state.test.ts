import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link, Site } from '../../../../src/api/skupper/index.ts';
import { recordedState } from '../../../../src/platform/kubernetes/recorded-state.ts';

const west: Site = {
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'Site',
  metadata: { name: 'west', namespace: 'west' },
  spec: {},
  status: {
    network: [
      { id: 'e', name: 'east', namespace: 'east', services: [{ routingKey: 'web', connectors: ['a', 'b'], listeners: [] }] },
      {
        id: 'w',
        name: 'west',
        namespace: 'west',
        platform: 'kubernetes',
        version: '1',
        links: [
          { name: 'to-east', remoteSiteId: 'e', operational: true },
          { name: 'to-gone', remoteSiteId: 'g', operational: true },
        ],
        services: [
          { routingKey: 'web', connectors: [], listeners: ['web'] },
          { routingKey: 'billing', listeners: ['billing'] },
        ],
      },
    ],
    incomingLinks: [
      { siteId: 'n', siteName: 'north', address: '10.0.0.1:1', cost: 2, operational: true, since: '2026-01-01T00:00:00Z' },
      { siteId: 's', siteName: 'south', operational: false, message: 'gone' },
    ],
  },
};

const link = (name: string, cost: number, operational: boolean): Link => ({
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'Link',
  metadata: { name },
  spec: { endpoints: [], cost },
  status: {
    message: operational ? 'OK' : 'refused',
    conditions: [
      {
        type: 'Operational',
        status: operational ? 'True' : 'False',
        reason: operational ? 'Ready' : 'Refused',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
});

test('the state of a Site has this site first, and each link at both ends with its cost', () => {
  const { network } = recordedState(west, [link('to-east', 5, true)]);
  assert.deepEqual(
    network.items.map((site) => [Reflect.get(site, 'id'), Reflect.get(site, 'links')]),
    [
      ['w', [{ siteId: 'e', siteName: 'east', cost: 5 }]],
      ['e', [{ siteId: 'w', siteName: 'west', cost: 5 }]],
    ],
  );
});

test('the state of a Site has its routing keys with their numbers of listeners and connectors', () => {
  assert.deepEqual(recordedState(west, []).keys.items, [
    { key: 'billing', listeners: [{ site: 'w', count: 1 }], connectors: [], reachable: false },
    { key: 'web', listeners: [{ site: 'w', count: 1 }], connectors: [{ site: 'e', count: 2 }], reachable: true },
  ]);
});

test('the state of a Site has its Links with their problem, and the links of others that are up', () => {
  const { items, incoming } = recordedState(west, [link('to-east', 5, true), link('down', 1, false)]).links;
  assert.deepEqual(
    items.map((each) => [Reflect.get(each, 'name'), Reflect.get(each, 'operational'), Reflect.get(each, 'problem')]),
    [
      ['to-east', true, undefined],
      ['down', false, { code: '', message: 'refused' }],
    ],
  );
  assert.deepEqual(incoming, [
    { siteId: 'n', siteName: 'north', address: '10.0.0.1:1', cost: 2, since: Date.parse('2026-01-01T00:00:00Z') },
  ]);
});

test('a namespace without a Site has an empty state', () => {
  const { network, keys, links } = recordedState(undefined, []);
  assert.deepEqual([network.items, keys.items, links.items, links.incoming], [[], [], [], []]);
});
