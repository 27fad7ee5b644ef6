import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { writeRecords } from '../../../src/routing/codec.ts';
import { writeAbout, writeKey, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import { createRouting } from '../../../src/routing/routing.ts';
import { TestNetwork, testKey, testSite } from './support/network.ts';
import { differences } from './support/reference.ts';
import { EarshotError } from '../../../src/errors/earshot-error.ts';

const connector = (routingKey: string, connectors = 1): { routingKey: string; connectors: number; listeners: number } => ({
  routingKey,
  connectors,
  listeners: 0,
});

test('a connector in another site is found over the least-cost path', () => {
  const network = new TestNetwork(['a', 'b', 'c', 'd']);
  network.facts('d', { edge: false, keys: [connector('backend', 2)] });
  network.link('a', 'b', 1);
  network.link('b', 'd', 1);
  network.link('a', 'c', 1);
  network.link('c', 'd', 5);
  network.converge();
  const [found, ...others] = network.routing('a').destinations('backend');
  assert.deepEqual(others, []);
  assert.deepEqual(found, {
    router: network.id('d'),
    cost: 2,
    connectors: 2,
    failing: false,
    path: [network.id('b'), network.id('d')],
    links: ['a-b'],
  });
});

test('destinations come least cost first, this router before all, with an empty path', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  for (const name of ['a', 'b', 'c']) network.facts(name, { edge: false, keys: [connector('backend')] });
  network.link('a', 'b', 7);
  network.link('a', 'c', 3);
  network.converge();
  const found = network.routing('a').destinations('backend');
  assert.deepEqual(
    found.map(({ router, cost }) => [router, cost]),
    [
      [network.id('a'), 0],
      [network.id('c'), 3],
      [network.id('b'), 7],
    ],
  );
  assert.deepEqual([found[0]?.path, found[0]?.links], [[], []]);
});

test('the cheapest of several links to a neighbour counts, and all are listed in that order', () => {
  const network = new TestNetwork(['a', 'b']);
  network.facts('b', { edge: false, keys: [connector('backend')] });
  network.link('a', 'b', 5, 'second');
  network.link('a', 'b', 2, 'first');
  network.converge();
  assert.deepEqual(
    network
      .routing('a')
      .destinations('backend')
      .map(({ cost, links }) => [cost, links]),
    [[2, ['first', 'second']]],
  );
  network.cut('first');
  network.converge();
  assert.deepEqual(
    network
      .routing('a')
      .destinations('backend')
      .map(({ cost, links }) => [cost, links]),
    [[5, ['second']]],
  );
  network.link('a', 'b', 9, 'second');
  network.converge();
  assert.deepEqual(
    network
      .routing('a')
      .destinations('backend')
      .map(({ cost }) => cost),
    [9],
  );
});

test('a silent link leads nowhere else than before where there is no other path, and other paths are taken where there are any', () => {
  const network = new TestNetwork(['a', 'b', 'c', 'd']);
  network.facts('d', { edge: false, keys: [connector('backend')] });
  for (const [from, to, cost] of [
    ['a', 'b', 1],
    ['b', 'd', 1],
    ['a', 'c', 5],
    ['c', 'd', 5],
  ] as const)
    network.link(from, to, cost);
  network.converge();
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => network.id(name));
  const found = (): readonly [number | undefined, readonly string[] | undefined] => {
    const [first] = network.routing('a').destinations('backend');
    return [first?.cost, first?.path];
  };
  const [viaB, viaC] = [
    [b ?? '', d ?? ''],
    [c ?? '', d ?? ''],
  ] as const;
  assert.deepEqual(found(), [2, viaB]);
  assert.equal(network.routing('a').isSilent(viaB, 'a-b'), false);

  // One end says so, and it is not this one.
  network.silence('b-d', 'd', true);
  network.converge();
  assert.deepEqual(found(), [10, viaC]);
  assert.equal(network.routing('a').isSilent(viaB, 'a-b'), true);
  assert.equal(network.routing('a').isSilent(viaC, 'a-c'), false);

  network.silence('a-c', 'a', true);
  network.converge();
  assert.deepEqual(found(), [65_536, viaB], 'the only paths are silent: one of them is used');
  assert.equal(network.routing('d').destinations('backend')[0]?.router, d);
  assert.equal(network.routing('a').network()[0]?.router, a?.split('/')[1]);

  network.silence('b-d', 'd', false);
  network.converge();
  assert.deepEqual(found(), [2, viaB], 'it is heard again, and used again');
});

test('a silent link among several to a neighbour comes last', () => {
  const network = new TestNetwork(['a', 'b']);
  network.facts('b', { edge: false, keys: [connector('backend')] });
  network.link('a', 'b', 1, 'one');
  network.link('a', 'b', 3, 'two');
  network.converge();
  network.silence('one', 'a', true);
  network.converge();
  const [found] = network.routing('a').destinations('backend');
  assert.deepEqual([found?.cost, found?.links], [3, ['two', 'one']]);
  assert.equal(network.routing('a').isSilent(found?.path ?? [], 'one'), true, 'a connection that waits on it');
  assert.equal(network.routing('a').isSilent(found?.path ?? [], 'two'), false);
});

test('an edge site is reached and reaches, but nothing passes through it', () => {
  const network = new TestNetwork(['a', 'b', 'edge/1', 'edge/2']);
  for (const name of ['edge/1', 'edge/2']) network.facts(name, { edge: true, keys: [connector('at-edge')] });
  network.facts('b', { edge: false, keys: [connector('at-b')] });
  network.link('a', 'edge/1', 1);
  network.link('edge/1', 'edge/2', 1);
  network.link('edge/2', 'b', 1);
  network.converge();
  assert.deepEqual(network.routing('a').destinations('at-b'), [], 'a does not reach b through the edge site');
  assert.deepEqual(
    network
      .routing('a')
      .destinations('at-edge')
      .map(({ cost }) => cost),
    [1, 2],
    'within the edge site the path goes on',
  );
  assert.deepEqual(
    network
      .routing('edge/1')
      .destinations('at-b')
      .map(({ cost }) => cost),
    [2],
    'the edge site itself reaches b through its own routers',
  );
});

test('a router confined to its links reaches and is reached, but carries no transit that way, for any announcements', () => {
  const network = new TestNetwork(['a', 'b', 'host', 'guest/1', 'guest/2']);
  network.facts('guest/2', { edge: false, keys: [connector('at-guest')] });
  network.facts('b', { edge: false, keys: [connector('at-b')] });
  network.link('a', 'host', 1);
  network.link('host', 'guest/1', 1, 'confined', 'host');
  network.link('guest/1', 'guest/2', 1);
  network.link('guest/2', 'b', 1);
  network.converge();
  const costs = (name: string, key: string): readonly number[] =>
    network
      .routing(name)
      .destinations(key)
      .map(({ cost }) => cost);
  assert.deepEqual([costs('host', 'at-b'), costs('a', 'at-b')], [[], []], 'not for its host, and not for who is behind that');
  assert.deepEqual([costs('host', 'at-guest'), costs('a', 'at-guest')], [[2], [3]]);
  assert.equal(network.routing('b').network().length, 3, 'the other way round neither');
  assert.equal(network.routing('guest/2').network().length, 5);
  network.link('host', 'guest/2', 5, 'ordinary');
  network.converge();
  assert.deepEqual([costs('a', 'at-b'), costs('a', 'at-guest')], [[7], [3]], 'over an ordinary link it is transit like any other');
  network.link('host', 'guest/1', 1, 'confined');
  network.converge();
  assert.deepEqual(costs('a', 'at-b'), [4], 'nor is it confined for good');
});

test('a path over more than 32 routers is not offered', () => {
  const names = Array.from({ length: 35 }, (_, index) => `s${index}`);
  const network = new TestNetwork(names);
  network.facts('s34', { edge: false, keys: [connector('far')] });
  network.facts('s32', { edge: false, keys: [connector('near')] });
  for (const [index, name] of names.entries()) if (index > 0) network.link(names[index - 1] ?? '', name, 1);
  network.converge();
  assert.equal(network.routing('s0').destinations('near')[0]?.path.length, 32);
  assert.deepEqual(network.routing('s0').destinations('far'), []);
  assert.equal(network.routing('s2').destinations('far')[0]?.path.length, 32);
});

test('listeners are known of, wherever they are', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  network.link('a', 'b', 1);
  network.link('b', 'c', 1);
  network.facts('c', { edge: false, keys: [{ routingKey: 'backend', connectors: 0, listeners: 1 }] });
  network.converge();
  assert.ok(network.routing('a').hasListener('backend'));
  assert.deepEqual(network.routing('a').destinations('backend'), []);
  network.cut('b-c');
  network.converge();
  assert.ok(!network.routing('a').hasListener('backend'));
});

test('the network lists all that can be reached, this router first, with links, keys and the names of sites', () => {
  const network = new TestNetwork(['a', 'b']);
  network.facts('b', { edge: true, keys: [connector('backend', 3)] });
  network.link('a', 'b', 4);
  network.converge();
  const [self, other, ...more] = network.routing('a').network();
  assert.deepEqual(more, []);
  assert.deepEqual(self, {
    router: 'r',
    site: testSite('a'),
    edge: false,
    listed: 1,
    links: [{ name: 'a-b', siteId: testSite('b').id, siteName: 'b', cost: 4 }],
    keys: [],
  });
  assert.deepEqual(other, {
    router: 'r',
    site: testSite('b'),
    edge: true,
    listed: 2,
    links: [{ name: 'a-b', siteId: testSite('a').id, siteName: 'a', cost: 4 }],
    keys: [{ ...connector('backend', 3), failing: false }],
  });
});

test('the version rises with each change of an answer, and not by what changes none', () => {
  const network = new TestNetwork(['a', 'b']);
  network.link('a', 'b', 1);
  network.converge();
  const routing = network.routing('a');
  const { version } = routing;
  network.facts('b', { edge: false, keys: [] });
  network.pass(700_000);
  assert.equal(routing.version, version, 'a refresh says nothing new');
  network.facts('b', { edge: false, keys: [connector('new')] });
  network.converge();
  assert.ok(routing.version > version);
});

test('partitions heal: what changed on either side meanwhile is known on both', () => {
  const network = new TestNetwork(['a', 'b', 'c', 'd']);
  network.link('a', 'b', 1);
  network.link('b', 'c', 1);
  network.link('c', 'd', 1);
  network.converge();
  network.cut('b-c');
  network.facts('a', { edge: false, keys: [connector('left')] });
  network.facts('d', { edge: false, keys: [connector('right')] });
  network.converge();
  network.link('b', 'c', 1);
  network.converge();
  assert.deepEqual(differences(network, ['left', 'right']), []);
});

test('two databases that are all but equal meet with a few small messages', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  network.facts('c', { edge: false, keys: Array.from({ length: 2000 }, (_, index) => connector(`key-${index}`)) });
  network.link('a', 'b', 1);
  network.link('b', 'c', 1);
  network.link('a', 'c', 1);
  network.converge();
  network.cut('a-b');
  network.converge();
  const { delivered, bytes } = network;
  network.link('a', 'b', 1);
  network.converge();
  // A summary, what a and b now say of themselves, passed on once more, and digests of the buckets of these two.
  assert.ok(network.delivered - delivered <= 14, `${network.delivered - delivered} messages`);
  assert.ok(network.bytes - bytes < 5000, `${network.bytes - bytes} bytes`);
});

test('one key of ten thousand costs one part, not the whole site', () => {
  const network = new TestNetwork(['a', 'b']);
  const keys = Array.from({ length: 10_000 }, (_, index) => connector(`service-${index}.example`));
  network.facts('a', { edge: false, keys });
  network.link('a', 'b', 1);
  network.converge();
  assert.equal(network.routing('b').destinations('service-9999.example').length, 1);
  const { bytes } = network;
  network.facts('a', { edge: false, keys: keys.map((key, index) => (index === 5000 ? connector(key.routingKey, 2) : key)) });
  network.converge();
  assert.equal(network.routing('b').destinations('service-5000.example')[0]?.connectors, 2);
  assert.ok(network.bytes - bytes < 1500, `${network.bytes - bytes} bytes`);
  assert.ok(network.longest <= 32_768);
});

test('many changes at once go out together', () => {
  const network = new TestNetwork(['a', 'b']);
  network.link('a', 'b', 1);
  network.converge();
  const { delivered } = network;
  for (let index = 0; index < 500; index += 1) network.facts('a', { edge: false, keys: [connector(`key-${index}`)] });
  network.pass(3000);
  assert.equal(network.routing('b').destinations('key-499').length, 1);
  assert.ok(network.delivered - delivered < 30, `${network.delivered - delivered} messages`);
});

test('a key that is more than a key can be is left out, and counted', () => {
  const network = new TestNetwork(['a', 'b'], { keysOfRouter: 3 });
  network.facts('a', {
    edge: false,
    keys: ['', 'x'.repeat(254), 'a\nb', 'é'.repeat(126), 'good', ' spaces are fine ', 'one too many'].map((key) => connector(key)),
  });
  network.link('a', 'b', 1);
  network.converge();
  assert.deepEqual(
    network
      .routing('b')
      .network()[1]
      ?.keys.map(({ routingKey }) => routingKey),
    ['é'.repeat(126), 'good', ' spaces are fine '],
  );
  assert.equal(network.routing('a').counters.leftOut, 4);
});

test('a reserved key belongs to no router: a router announces none, and ignores one in a record', () => {
  const network = new TestNetwork(['a', 'b']);
  const keys = [connector('earshot:probe'), connector('backend')];
  network.facts('a', { edge: false, keys });
  network.link('a', 'b', 1);
  network.converge();
  assert.equal(network.routing('a').counters.leftOut, 1);
  // As a router of an earlier version has it.
  const about = writeAbout({ name: 'a', namespace: '', platform: '', version: '', edge: false });
  const fields = [
    about,
    writeNeighbour({ router: network.id('b'), cost: 1, link: 'a-b' }),
    ...keys.map((key) => writeKey({ ...key, listeners: 1 })),
  ];
  const bytes = writeRecord({ router: 'r', epoch: network.now, counter: 0, part: 0 }, fields, testKey('a'));
  const routing = network.routing('b');
  const { accepted } = routing.counters;
  for (const asked of ['before', 'after']) {
    if (asked === 'after') network.inject('b', 'a-b', writeRecords([{ age: 0, bytes }], 4096)[0] ?? Buffer.alloc(0));
    assert.deepEqual(routing.destinations('earshot:probe'), [], asked);
    assert.ok(!routing.hasListener('earshot:probe'), asked);
    assert.equal(routing.destinations('backend').length, 1, asked);
  }
  assert.equal(routing.counters.accepted, accepted + 1);
  assert.deepEqual(
    routing.network()[1]?.keys.map(({ routingKey }) => routingKey),
    ['backend'],
  );
});

test('a site whose ID does not match its key is not started, nor a router with an invalid name', () => {
  const options = { router: 'r', site: testSite('a'), siteKey: testKey('b') };
  const isKeyError = (error: unknown): boolean => error instanceof EarshotError && error.code === 'site-key';
  assert.throws(() => createRouting(options), isKeyError);
  assert.throws(() => createRouting({ ...options, siteKey: testKey('a'), router: 'R/1' }), isKeyError);
});
