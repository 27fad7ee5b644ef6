import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readIncomingLinks, readNetwork } from '../../../../src/site-controller/site/network-record.ts';

const west = {
  id: '1',
  name: 'west',
  namespace: 'w',
  platform: 'kubernetes',
  version: '1',
  links: [{ name: 'east', remoteSiteId: '2', remoteSiteName: 'east', operational: true }],
  services: [{ routingKey: 'db', connectors: ['10.0.0.1'], listeners: ['db'] }],
};

describe('the network as a router pod reports it', () => {
  test('is taken as it is', () => {
    assert.deepEqual(readNetwork(JSON.stringify([west])), { network: [west], sitesInNetwork: 1 });
  });

  for (const [what, json] of [
    ['nothing', undefined],
    ['no JSON', '{'],
    ['no list', '{"id":"1"}'],
    ['a list of nothing of use', '[null,1,"x",[]]'],
  ] as const) {
    test(`is empty where it is ${what}`, () => {
      assert.deepEqual(readNetwork(json), { network: [], sitesInNetwork: 0 });
    });
  }

  test('loses what is not of its form, so that the status that it goes into is not refused', () => {
    const site = {
      id: 7,
      name: 'a\nb',
      more: 1,
      links: [{ operational: 'yes', name: 'x' }, 1],
      services: [{ connectors: [1, 'c'], listeners: 'l' }],
    };
    assert.deepEqual(readNetwork(JSON.stringify([site])).network, [
      { name: 'a b', links: [{ name: 'x' }], services: [{ connectors: ['c'], listeners: [] }] },
    ]);
  });

  test('is cut before a Site becomes too large for it, and says how many there are all the same', () => {
    const many = Array.from({ length: 5000 }, (_, index) => ({ ...west, id: String(index) }));
    const { network, sitesInNetwork } = readNetwork(JSON.stringify(many));
    assert.equal(sitesInNetwork, 5000);
    assert.ok(network.length > 100 && JSON.stringify(network).length < 300_000);
  });

  test('has no site that is large by itself', () => {
    const long = Array.from({ length: 2_000 }, () => 'x'.repeat(300));
    const { network } = readNetwork(JSON.stringify([{ ...west, services: [{ routingKey: 'k', connectors: long, listeners: [] }] }]));
    assert.ok(JSON.stringify(network).length < 32_768);
  });
});

describe('The links that came in, as a router pod has written them', () => {
  const link = { siteId: 'e', siteName: 'east', address: '192.0.2.1:1', cost: 2, operational: true, since: '2026-01-01T00:00:00Z' };
  for (const [what, json, expected] of [
    ['as they are', JSON.stringify([link]), [link]],
    [
      'without what is nothing of them',
      JSON.stringify([{ ...link, password: 'x', cost: 1.5, operational: 'yes' }, 7]),
      [{ ...link, cost: undefined, operational: undefined }],
    ],
    ['on one line and short', JSON.stringify([{ message: `a\n${'x'.repeat(10_000)}` }]), undefined],
    ['a few of many', JSON.stringify(Array.from({ length: 5_000 }, () => link)), Array.from({ length: 128 }, () => link)],
    ['none without a record', undefined, []],
    ['none where it cannot be read', '{', []],
  ] as const) {
    test(`are read: ${what}`, () => {
      const read = readIncomingLinks(json);
      if (expected !== undefined) assert.deepEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(expected)));
      else assert.ok((read[0]?.message?.length ?? 0) <= 201 && !read[0]?.message?.includes('\n'));
    });
  }
});
