import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexNetwork } from '../../../src/console/network-index.ts';

const site = (id: string, ...to: readonly string[]) => ({
  id,
  name: id.toUpperCase(),
  links: to.map((siteId) => ({ siteId, siteName: siteId.toUpperCase(), cost: 2 })),
});

test('a link that both other sites announce is listed once, and none of this site', () => {
  const { between } = indexNetwork({
    sites: [site('own', 'b'), site('b', 'own', 'a', 'c'), site('a', 'b'), site('c', 'b', 'own')],
    keys: [],
  });
  assert.deepEqual(
    [...between.values()],
    [
      { id: 'a/b', from: 'b', fromName: 'B', to: 'a', toName: 'A', cost: 2 },
      { id: 'b/c', from: 'b', fromName: 'B', to: 'c', toName: 'C', cost: 2 },
    ],
  );
});

test('a routing key counts once for a site that has listeners and connectors of it', () => {
  const at = (...sites: readonly string[]) => sites.map((id) => ({ site: id }));
  const keys = [
    { listeners: at('a', 'b'), connectors: at('b') },
    { listeners: at('b'), connectors: [] },
  ];
  assert.deepEqual(Object.fromEntries(indexNetwork({ sites: [], keys }).keysOfSites), { a: 1, b: 2 });
});
