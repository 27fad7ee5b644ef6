import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestNetwork } from './support/network.ts';
import { differences } from './support/reference.ts';

const minute = 60_000;
const keys = [{ routingKey: 'backend', connectors: 1, listeners: 0 }];

test('a router that is cut off is unreachable at once and forgotten after half an hour', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  network.link('a', 'b', 1);
  network.link('b', 'c', 1);
  network.facts('c', { edge: false, keys });
  network.converge();
  network.cut('b-c');
  network.converge();
  assert.deepEqual(network.routing('a').destinations('backend'), []);
  const { version } = network.routing('a');
  network.pass(15 * minute);
  assert.equal(network.routing('a').version, version, 'it is still held');
  network.pass(20 * minute);
  assert.ok(network.routing('a').version > version, 'it is forgotten');
});

test('routers that live are never forgotten', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  network.link('a', 'b', 1);
  network.link('b', 'c', 1);
  network.facts('c', { edge: false, keys });
  network.converge();
  const { version } = network.routing('a');
  network.pass(120 * minute);
  assert.equal(network.routing('a').version, version);
  assert.deepEqual(differences(network, ['backend']), []);
});

test('a record that is old on arrival is removed as early as elsewhere', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  network.facts('c', { edge: false, keys });
  network.link('b', 'c', 1);
  network.converge();
  network.cut('b-c');
  network.pass(24 * minute);
  // Now a hears of c from b, 24 minutes late.
  network.link('a', 'b', 1);
  network.converge();
  const { version } = network.routing('a');
  network.pass(4 * minute);
  assert.equal(network.routing('a').version, version);
  network.pass(3 * minute);
  assert.ok(network.routing('a').version > version);
});

test('a machine that slept for a day, or whose clock was set, removes no router for that', () => {
  for (const jump of [86_400_000, -86_400_000]) {
    const network = new TestNetwork(['a', 'b']);
    network.facts('b', { edge: false, keys });
    network.link('a', 'b', 1);
    network.converge();
    network.now += jump;
    network.pass(5000);
    assert.deepEqual(differences(network, ['backend']), []);
  }
});

test('a router that restarts wins back its name, whatever its clock says', () => {
  for (const clock of [1, 86_400_000, -86_400_000]) {
    const network = new TestNetwork(['a', 'b', 'c', 'd']);
    network.facts('c', { edge: false, keys });
    network.link('a', 'b', 1);
    network.link('b', 'c', 1);
    network.link('c', 'd', 1);
    network.converge();
    network.facts('c', { edge: false, keys: [] });
    network.start('c', network.now + clock);
    network.link('b', 'c', 1);
    network.link('c', 'd', 1);
    network.converge();
    assert.deepEqual(differences(network, ['backend']), [], `its clock ${clock} ms off`);
    assert.equal(network.routing('c').counters.contested > 0, clock < 0);
    assert.equal(network.routing('c').contested.count, clock < 0 ? 1 : 0, 'it answers once');
  }
});

test('a copy of a site that runs elsewhere costs messages at a bounded rate', () => {
  const network = new TestNetwork(['a', 'a#copy', 'b']);
  network.link('a', 'b', 1);
  network.link('a#copy', 'b', 1);
  network.pass(minute);
  const { delivered } = network;
  network.pass(10 * minute);
  const sent = network.delivered - delivered;
  assert.ok(network.routing('a').counters.contested > 0, 'they notice each other');
  for (const name of ['a', 'a#copy']) {
    const { count, last } = network.routing(name).contested;
    assert.ok(count > 10 && network.now - last < minute, `${name}: ${count}, the last one ${network.now - last} ms ago`);
  }
  // Each goes beyond the other once in ten seconds at most, with a handful of messages.
  assert.ok(sent < 1000, `${sent} messages`);
});
