import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestNetwork } from './support/network.ts';

test('a connector in another site is found over the least-cost path', () => {
  const network = new TestNetwork(['a', 'b', 'c', 'd']);
  network.facts('d', { edge: false, keys: [{ routingKey: 'backend', connectors: 2, listeners: 0 }] });
  network.link('a', 'b', 1);
  network.link('b', 'd', 1);
  network.link('a', 'c', 1);
  network.link('c', 'd', 5);
  network.settle();
  const [found, ...others] = network.routing('a').destinations('backend');
  assert.deepEqual(others, []);
  assert.deepEqual(found, { router: network.id('d'), cost: 2, connectors: 2, path: [network.id('b'), network.id('d')], links: ['a-b'] });
});
