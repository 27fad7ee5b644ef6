import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { test, type TestContext } from 'node:test';
import { fuzz } from '../../../bench/routing/fuzz.ts';
import type { Routing, RoutingLimits } from '../../../src/routing/contract.ts';
import { readMessage, writeDigest, writeRecords, writeRequest, writeSummary } from '../../../src/routing/codec.ts';
import { RoutingError } from '../../../src/routing/errors.ts';
import { writeAbout, writeKey, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import { createRouting } from '../../../src/routing/routing.ts';
import { siteIdOf } from '../../../src/identity/site-id.ts';
import { generateSiteKey } from '../../../src/identity/site-key.ts';
import { TestNetwork, testKey, testSite, testVerify } from './support/network.ts';

const code =
  (expected: string) =>
  (error: unknown): boolean =>
    error instanceof RoutingError && error.code === expected;
const about = writeAbout({ name: 'x', namespace: '', platform: '', version: '', edge: false });
const now = 1_700_000_000_000;

/** A router with two neighbours that say what the test wants. */
function victim(limits: Partial<RoutingLimits> = {}): ReturnType<typeof createRouting> {
  const routing = createRouting({ router: 'r', site: testSite('victim'), siteKey: testKey('victim'), verify: testVerify, limits });
  for (const link of ['left', 'right']) routing.adjacencyUp({ router: idOf(link), site: testSite(link), link, cost: 1 }, now);
  return routing;
}

function idOf(site: string): string {
  return `${testSite(site).id}/r`;
}

function record(
  site: string,
  fields: readonly Buffer[],
  version: { readonly router?: string; readonly epoch?: number; readonly counter?: number; readonly part?: number } = {},
): Buffer {
  return writeRecord({ router: 'r', epoch: 1, counter: 1, part: 0, ...version }, [about, ...fields], testKey(site));
}

function records(...all: readonly Buffer[]): Buffer {
  return messagesOf(all)[0] ?? Buffer.alloc(0);
}

function messagesOf(all: readonly Buffer[]): readonly Buffer[] {
  return writeRecords(
    all.map((bytes) => ({ age: 0, bytes })),
    60_000,
  );
}

/** Does all that is left to do. */
function bringToRest(routing: ReturnType<typeof victim>, since: number): void {
  for (let later = since + 1_000; routing.waiting !== 'no'; later += 1_000) routing.release(later);
}

/** Milliseconds. */
function processorTime(work: () => void): number {
  const before = process.cpuUsage().user;
  work();
  return (process.cpuUsage().user - before) / 1_000;
}

const toVictim = writeNeighbour({ router: idOf('victim'), cost: 1, link: 'up' });
const keyField = (routingKey: string): Buffer => writeKey({ routingKey, connectors: 1, listeners: 0 });

test('a record that its site did not sign ends the link, and affects no other router', () => {
  const [siteKey, key] = [generateSiteKey().key, generateSiteKey().key];
  const routing = createRouting({ router: 'r', site: siteOf(siteKey), siteKey });
  routing.adjacencyUp({ router: `${siteIdOf(key.publicKey)}/r`, site: siteOf(key), link: 'l', cost: 1 }, now);
  const good = writeRecord({ router: 'r', epoch: 5, counter: 5, part: 0 }, [about, keyField('true')], key);
  for (const at of [0, 33, 40, 60, good.length - 1]) {
    const forged = Buffer.from(good);
    forged[at] = (forged[at] ?? 0) ^ 1;
    assert.throws(
      () => routing.receive('l', records(forged), now),
      (error: unknown) => error instanceof RoutingError,
      `byte ${at}`,
    );
  }
  routing.receive('l', records(good), now);
  assert.equal(routing.counters.accepted, 1);
});

function siteOf(key: { readonly publicKey: Buffer }): ReturnType<typeof testSite> {
  return { id: siteIdOf(key.publicKey), name: 'real', namespace: '', platform: '', version: '' };
}

test('records before a forged one in a message still reach others', () => {
  const routing = victim();
  const forged = Buffer.from(record('b', []));
  forged[forged.length - 1] = (forged[forged.length - 1] ?? 0) ^ 1;
  assert.throws(() => routing.receive('left', records(record('a', []), forged), now), code('routing-forged'));
  const sent = routing.adjacencyDown('left', now);
  assert.ok(sent.some(({ link, message }) => link === 'right' && message.includes(record('a', []))));
});

test("an edge that only one end lists does not count, nor a cost below the neighbour's", () => {
  const routing = victim();
  const claim = (to: string, cost: number): Buffer => writeNeighbour({ router: idOf(to), cost, link: `to-${to}` });
  routing.receive(
    'left',
    records(
      record('left', [toVictim, claim('far', 1), claim('other', 1)]),
      record('far', [claim('left', 900), keyField('far')]),
      record('other', [keyField('other')]),
    ),
    now,
  );
  assert.deepEqual(
    routing.destinations('far').map(({ cost }) => cost),
    [901],
  );
  assert.deepEqual(routing.destinations('other'), []);
});

test('records and messages of a later version are passed on unchanged', () => {
  const routing = victim();
  const later = record('later', [Buffer.of(77, 0, 2, 1, 2), toVictim]);
  const sent = routing.receive('left', records(later), now);
  assert.deepEqual(
    sent.filter(({ link }) => link === 'right').map(({ message }) => readMessage(message)),
    [{ kind: 'records', records: [{ age: 0, bytes: later }] }],
  );
  assert.deepEqual(routing.receive('left', Buffer.of(99, 1, 2, 3), now), []);
});

test('a record whose body breaks the rules is neither taken nor passed on, but its bearer is not to blame', () => {
  const routing = victim();
  assert.deepEqual(routing.receive('left', records(record('a', [Buffer.of(7, 0, 1, 1)])), now), []);
  assert.equal(routing.counters.malformed, 1);
});

test('a router with more keys or neighbours than allowed is refused beyond that, others are not', () => {
  const routing = victim({ keysOfRouter: 2, neighboursOfRouter: 2 });
  routing.receive('left', records(record('left', [toVictim, keyField('a'), keyField('b')])), now);
  routing.receive('left', records(record('left', [keyField('c')], { part: 1 })), now);
  routing.receive(
    'left',
    records(
      record(
        'many',
        [1, 2, 3].map((cost) => writeNeighbour({ router: idOf('left'), cost, link: `l${cost}` })),
      ),
    ),
    now,
  );
  assert.equal(routing.counters.refused, 2);
  routing.receive('right', records(record('right', [toVictim, keyField('c')])), now);
  assert.equal(routing.destinations('c').length, 1);
});

test('endless routers do not displace those that can be reached', () => {
  const routing = victim({ routers: 10 });
  routing.receive('left', records(...Array.from({ length: 40 }, (_, index) => record(`sybil-${index}`, []))), now);
  // Held are ten at most, and for a moment one more.
  const { accepted, refused } = routing.counters;
  assert.ok(accepted - refused <= 11, `${accepted} taken, ${refused} given up`);
  routing.receive('right', records(record('right', [toVictim, keyField('real')])), now + 20_000);
  assert.equal(routing.destinations('real').length, 1, 'unreachable ones are evicted');
});

test('bytes are bounded, whatever the number of routers', () => {
  const routing = victim({ databaseBytes: 20_000 });
  for (let index = 0; index < 50; index += 1)
    routing.receive('left', records(record(`s${index}`, [Buffer.concat([Buffer.of(99, 3, 232), Buffer.alloc(1000)])])), now);
  // A dozen.
  const { accepted, refused } = routing.counters;
  assert.ok(accepted - refused <= 12, `${accepted} taken, ${refused} given up`);
});

test('the lists of all routers are bounded: the largest lister is evicted, and others stay', () => {
  const crowd = Array.from({ length: 30 }, (_, index) => `s${index}`);
  const among = crowd.map((name) => writeNeighbour({ router: idOf(name), cost: 1, link: name }));
  for (const limits of [{ neighbours: 100 }, { keys: 100 }]) {
    const routing = victim(limits);
    const listed = 'keys' in limits ? among.map((_, index) => keyField(`k${index}`)) : among;
    const toLeft = writeNeighbour({ router: idOf('left'), cost: 1, link: 'up' });
    routing.receive('right', records(record('right', [toVictim, keyField('real')])), now);
    routing.receive('left', records(record('left', [toVictim, ...among])), now);
    for (const name of crowd) routing.receive('left', records(record(name, [toLeft, ...listed])), now);
    routing.tick(now + 1000);
    const network = routing.network();
    const [links, keys] = [network.flatMap((router) => router.links).length, network.flatMap((router) => router.keys).length];
    assert.ok('keys' in limits ? keys <= 100 : links <= 100, `${links} links and ${keys} keys`);
    assert.equal(routing.destinations('real').length, 1);
  }
});

test('paths are computed within a CPU-time budget, with the latest records in the end; a blocked site is blocked at once', (t) => {
  // Each look at the clock is 1 ms later than the one before, so finding all paths seems to take as long.
  let clock = 0;
  t.mock.method(performance, 'now', () => (clock += 1));
  const routing = victim();
  const told = (cost: number): void => {
    const [toLeft, toFar] = [idOf('left'), idOf('far')].map((router) => writeNeighbour({ router, cost, link: 'l' }));
    const version = { counter: cost };
    routing.receive('left', records(record('far', [toLeft ?? about, keyField('k')], version)), now);
    routing.receive('left', records(record('left', [toVictim, toFar ?? about], version)), now);
  };
  const costs = Array.from({ length: 20 }, (_, index) => {
    told(index + 1);
    return routing.destinations('k')[0]?.cost;
  });
  const found = new Set(costs).size;
  assert.ok(found > 1 && found < 6, `${found} times`);
  const { version } = routing;
  assert.equal(routing.waiting, 'a while');
  routing.release(now + 10_000);
  assert.notEqual(routing.version, version);
  assert.equal(routing.destinations('k')[0]?.cost, 21);
  for (let cost = 30; cost < 40; cost += 1) {
    told(cost);
    routing.destinations('k');
  }
  const before = routing.destinations('k')[0]?.cost ?? 0;
  const left = { router: idOf('left'), site: testSite('left'), cost: 1 };
  routing.adjacencyUp({ ...left, link: 'left', cost: 2 }, now);
  assert.equal(routing.destinations('k')[0]?.cost, before, 'the peer decides how often the cost of a link changes');
  routing.adjacencyUp({ ...left, link: 'another' }, now);
  assert.notEqual(routing.destinations('k')[0]?.cost, before, 'a link of its own counts at once');
  routing.block(new Set([testSite('far').id]));
  assert.deepEqual(routing.destinations('k'), []);
});

/** Routers that `left` says it is linked with, all in one star, and what it says when the last one costs that. */
function star(count: number): {
  readonly crowd: readonly string[];
  readonly told: (routing: ReturnType<typeof victim>, cost: number) => void;
} {
  const crowd = Array.from({ length: count }, (_, index) => `s${index}`);
  const told = (routing: ReturnType<typeof victim>, cost: number): void => {
    for (let from = 0, part = 0; from < count; from += 50, part += 1) {
      const some = crowd.slice(from, from + 50).map((name, index) => {
        const own = from + index === count - 1 ? cost : 1;
        return writeNeighbour({ router: idOf(name), cost: own, link: '' });
      });
      const bytes = record('left', part === 0 ? [toVictim, ...some] : some, { part, counter: cost });
      routing.receive('left', records(bytes), now);
    }
  };
  return { crowd, told };
}

/** A router that received one such network, whose last site has the key `k`. */
function inLargeNetwork(t: TestContext): { readonly routing: Routing; readonly told: ReturnType<typeof star>['told'] } {
  // Each look at the clock is 3 ms later than the one before, and a step seems to take as long.
  let clock = 0;
  t.mock.method(performance, 'now', () => (clock += 3));
  const routing = victim();
  const { crowd, told } = star(2_000);
  const toLeft = writeNeighbour({ router: idOf('left'), cost: 1, link: '' });
  told(routing, 1);
  for (const name of crowd) routing.receive('left', records(record(name, [toLeft, ...(name === 's1999' ? [keyField('k')] : [])])), now);
  return { routing, told };
}

test('paths through a large network are found in steps, and until then those of before lead on', (t) => {
  const { routing, told } = inLargeNetwork(t);
  const settle = (): number => {
    let turns = 0;
    for (let later = now + 60_000; routing.waiting !== 'no'; later += 60_000) {
      const inTurns = routing.waiting === 'a turn';
      routing.release(later);
      if (inTurns) turns += 1;
    }
    return turns;
  };
  settle();
  assert.equal(routing.destinations('k')[0]?.cost, 2);
  told(routing, 7);
  routing.release(now + 3_600_000);
  assert.equal(routing.waiting, 'a turn');
  assert.equal(routing.destinations('k')[0]?.cost, 2);
  assert.ok(settle() > 1);
  assert.equal(routing.destinations('k')[0]?.cost, 8);
});

test('however often a link comes and goes, paths through a large network are found in steps, for a part of the time', (t) => {
  const { routing } = inLargeNetwork(t);
  let later = now;
  const settleAll = (): void => {
    bringToRest(routing, later);
    later += 3_600_000;
  };
  assert.equal(routing.destinations('k').length, 1);
  const other = { router: idOf('other'), site: testSite('other'), cost: 1 };
  routing.receive(
    'left',
    records(record('other', [writeNeighbour({ router: idOf('victim'), cost: 1, link: 'l' }), keyField('other')])),
    later,
  );
  settleAll();
  routing.adjacencyUp({ ...other, link: 'l' }, later);
  assert.equal(routing.waiting, 'a turn');
  assert.deepEqual([routing.destinations('k').length, routing.destinations('other').length], [1, 0], 'those of before lead on');
  settleAll();
  assert.equal(routing.destinations('other').length, 1);
  for (let times = 0; times < 20; times += 1) {
    routing.adjacencyDown('l', later);
    routing.adjacencyUp({ ...other, link: 'l' }, later);
    while (routing.waiting === 'a turn') routing.release(later);
  }
  assert.equal(routing.waiting, 'a while', 'its time is spent');
  routing.adjacencyDown('l', later);
  settleAll();
  assert.deepEqual([routing.destinations('k').length, routing.destinations('other').length], [1, 0]);
});

test('evictions in a large network are computed in slices, and routers that arrive meanwhile are not passed on before', (t) => {
  let clock = 0;
  t.mock.method(performance, 'now', () => (clock += 3));
  const routing = victim({ routers: 1_900 });
  const { crowd, told } = star(1_950);
  const toLeft = writeNeighbour({ router: idOf('left'), cost: 1, link: '' });
  told(routing, 1);
  routing.receive('right', records(record('right', [toVictim, keyField('real')])), now);
  const passedOn = new Set<string>();
  const tell = (name: string): void => {
    const outgoing = routing.receive('left', records(record(name, [toLeft])), now);
    if (outgoing.some(({ link, message }) => link === 'right' && readMessage(message).kind === 'records')) passedOn.add(name);
  };
  crowd.slice(0, 1_900).forEach(tell);
  routing.tick(now + 1_000);
  assert.equal(routing.waiting, 'a turn');
  tell('s1900');
  for (let later = now + 1_000; routing.waiting === 'a turn'; later += 1) routing.release(later);
  assert.ok(routing.counters.refused > 0);
  assert.equal(passedOn.has('s1900'), false);
  // One more came while it was looked.
  routing.tick(now + 60_000);
  for (let later = now + 60_000; routing.waiting === 'a turn'; later += 1) routing.release(later);
  assert.ok(routing.network().length <= 1_900);
  assert.equal(routing.destinations('real').length, 1);
});

test('a router that links during an eviction stays', (t) => {
  let clock = 0;
  t.mock.method(performance, 'now', () => (clock += 3));
  const routing = victim({ routers: 1_900 });
  const { crowd, told } = star(1_950);
  const toLeft = writeNeighbour({ router: idOf('left'), cost: 1, link: '' });
  told(routing, 1);
  for (const name of crowd.slice(0, 1_900)) routing.receive('left', records(record(name, [toLeft])), now);
  routing.tick(now + 1_000);
  assert.equal(routing.waiting, 'a turn');
  // The one with the greatest id goes first among equals.
  const first = crowd.slice(0, 1_900).toSorted((left, right) => (idOf(left) < idOf(right) ? 1 : -1));
  const linked = first.slice(0, 8).map(testSite);
  for (const site of linked) routing.adjacencyUp({ router: `${site.id}/r`, site, link: site.name, cost: 1 }, now + 1_000);
  for (let later = now + 1_000; routing.waiting === 'a turn'; later += 1) routing.release(later);
  const known = new Set(routing.network().map(({ site }) => site.id));
  assert.deepEqual(
    linked.filter(({ id }) => !known.has(id)),
    [],
  );
});

test('a key that every router offers is compared among the nearest only', () => {
  const routing = victim();
  const toLeft = writeNeighbour({ router: idOf('left'), cost: 5, link: 'up' });
  const crowd = Array.from({ length: 300 }, (_, index) => `s${index}`);
  const among = crowd.map((name) => writeNeighbour({ router: idOf(name), cost: 5, link: name }));
  for (const [part, fields] of [among.slice(0, 100), among.slice(100, 200), among.slice(200)].entries())
    routing.receive('left', records(record('left', part === 0 ? [toVictim, ...fields] : fields, { part })), now);
  routing.receive('left', records(...crowd.map((name) => record(name, [toLeft, keyField('k')]))), now);
  routing.receive('right', records(record('right', [toVictim, keyField('k')])), now);
  const found = routing.destinations('k');
  assert.deepEqual([found.length, found[0]?.router], [256, idOf('right')]);
});

test('frequent changes of routers with popular keys are compared within a CPU-time budget, round-robin by key', (t) => {
  // Each look at the clock is 1 ms later than the one before, so comparing all routers of a key seems to take as long.
  let clock = 0;
  t.mock.method(performance, 'now', () => (clock += 1));
  const routing = victim();
  const crowd = Array.from({ length: 100 }, (_, index) => `s${index}`);
  const keys = ['k1', 'k2', 'k3'];
  const have = (connectors: number): readonly Buffer[] => keys.map((routingKey) => writeKey({ routingKey, connectors, listeners: 0 }));
  const among = crowd.map((name) => writeNeighbour({ router: idOf(name), cost: 1, link: '' }));
  const toLeft = writeNeighbour({ router: idOf('left'), cost: 1, link: '' });
  for (const [part, fields] of [among.slice(0, 50), among.slice(50)].entries())
    routing.receive('left', records(record('left', part === 0 ? [toVictim, ...fields] : fields, { part })), now);
  routing.receive('left', records(...crowd.map((name) => record(name, [toLeft, ...have(1)]))), now);
  const told = (connectors: number): void => {
    const version = { counter: connectors };
    routing.receive('left', records(record('s7', [toLeft, ...have(connectors)], version)), now);
  };
  const seen = (): readonly (number | undefined)[] =>
    keys.map((key) => routing.destinations(key).find(({ router }) => router === idOf('s7'))?.connectors);
  const found = keys.map(() => new Set<number | undefined>());
  for (let connectors = 2; connectors <= 30; connectors += 1) {
    told(connectors);
    for (const [index, each] of seen().entries()) found[index]?.add(each);
  }
  for (const each of found) assert.ok(each.size < 6, `${each.size} times`);
  assert.equal(routing.waiting, 'a while');
  const links = (): readonly (readonly string[] | undefined)[] => keys.map((key) => routing.destinations(key)[0]?.links);
  assert.deepEqual(links(), [['left'], ['left'], ['left']]);
  routing.adjacencyUp({ router: idOf('left'), site: testSite('left'), link: 'renewed', cost: 1 }, now);
  routing.adjacencyDown('left', now);
  assert.deepEqual(links(), [['renewed'], ['renewed'], ['renewed']], 'a link that takes the place of another is used at once');
  routing.adjacencyUp({ router: idOf('left'), site: testSite('left'), link: 'left', cost: 1 }, now);
  const { version } = routing;
  bringToRest(routing, now);
  assert.notEqual(routing.version, version);
  assert.deepEqual(seen(), [30, 30, 30]);
  for (let connectors = 31; connectors <= 60; connectors += 1) {
    told(connectors);
    seen();
  }
  routing.block(new Set([testSite('s7').id]));
  assert.deepEqual(seen(), [undefined, undefined, undefined], 'a site that is blocked is so at once');
});

test('however often a site names a key that is asked for, a few records of it take a few milliseconds', () => {
  const routing = victim();
  routing.destinations('k');
  const parts = Array.from({ length: 4096 }, (_, part) => part);
  let time = now;
  for (const router of ['r', 'r2', 'r3']) {
    const all = parts.map((part) => record('left', [keyField('k')], { router, part }));
    for (const message of messagesOf(all)) routing.receive('left', message, (time += 10_000));
  }
  assert.equal(routing.counters.accepted, 3 * 4096);
  const many = Array.from({ length: 350 }, () => keyField('k'));
  const version = (counter: number): Buffer => record('left', many, { part: 1, counter });
  const changed = messagesOf([2, 3, 4, 5, 6, 7, 8, 9].map((counter) => version(counter)));
  const began = messagesOf([record('left', [toVictim, keyField('k')], { epoch: 2 })]);
  const { accepted } = routing.counters;
  const spent = processorTime(() => {
    for (const message of [...changed, ...began]) routing.receive('left', message, time);
  });
  assert.equal(routing.counters.accepted, accepted + 9);
  assert.equal(routing.destinations('k').length, 1);
  assert.ok(spent < 400, `${spent} ms`);
});

test('a key that was never requested is searched among keys, for any amount of other data in records', () => {
  const routing = victim();
  const junk = Buffer.alloc(3 * 1250);
  let time = now;
  for (const router of ['r', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8']) {
    const parts = Array.from({ length: 1500 }, (_, part) => record('left', [junk, keyField('k')], { router, part }));
    for (const message of messagesOf(parts)) routing.receive('left', message, (time += 1000));
  }
  assert.ok(routing.counters.accepted >= 12_000);
  const spent = processorTime(() => {
    for (let index = 0; index < 10; index += 1) assert.deepEqual(routing.destinations(`other ${index}`), []);
  });
  assert.ok(spent < 250, `${spent} ms`);
});

test('a key that was never requested is found without a scan of all records', () => {
  const routing = victim();
  for (let site = 0; site < 256; site += 1) {
    const all = Array.from({ length: 128 }, (_, index) =>
      record(`invented-${site}`, [keyField(`key ${site} ${index}`)], { router: `r${index % 16}`, part: Math.floor(index / 16) }),
    );
    for (const message of messagesOf(all)) routing.receive('left', message, now);
  }
  assert.equal(routing.counters.accepted, 32_768);
  routing.destinations('first');
  const spent = processorTime(() => {
    for (let index = 0; index < 200; index += 1) for (const key of [`other ${index}`, `key ${index} 7`]) routing.destinations(key);
  });
  assert.ok(spent < 300, `${spent} ms`);
});

test('a router that changes without end is taken at a bounded rate, and its last word comes through', () => {
  const network = new TestNetwork(['a', 'b', 'c']);
  network.link('a', 'b', 1);
  network.link('b', 'c', 1);
  network.converge();
  const loud = testKey('loud');
  for (let counter = 1; counter <= 5000; counter += 1) {
    const bytes = writeRecord({ router: 'r', epoch: 1, counter, part: 0 }, [about], loud);
    network.inject('b', 'a-b', records(bytes));
  }
  const { accepted, postponed } = network.routing('b').counters;
  assert.ok(accepted < 1100 && postponed > 3900, `${accepted} taken, ${postponed} postponed`);
  assert.ok(network.routing('c').counters.accepted <= accepted);
});

test('postponed records are fetched without a further event', () => {
  const network = new TestNetwork(['a', 'b']);
  network.link('a', 'b', 1);
  network.converge();
  // 2,500 parts at once, where a router's burst is 1,024 records.
  const keys = Array.from({ length: 10_000 }, (_, index) => ({ routingKey: `${'long-'.repeat(45)}${index}`, connectors: 1, listeners: 0 }));
  network.facts('a', { edge: false, keys });
  network.pass(1000);
  assert.ok(network.routing('b').counters.postponed > 0);
  network.converge();
  assert.equal(network.routing('b').network()[1]?.keys.length, 10_000);
});

test('naming many parts of routers beyond the limit, on many links, does not slow messages of others', () => {
  const routing = createRouting({ router: 'r', site: testSite('victim'), siteKey: testKey('victim'), verify: testVerify });
  const evil = Array.from({ length: 8 }, (_, index) => `evil-${index}`);
  for (const link of evil) routing.adjacencyUp({ router: idOf('evil'), site: testSite('evil'), link, cost: 1 }, now);
  routing.adjacencyUp({ router: idOf('honest'), site: testSite('honest'), link: 'honest', cost: 1 }, now);
  const routers = ['a', 'b', 'c', 'd'];
  for (const router of routers) {
    const all = Array.from({ length: 1_100 }, (_, index) => record('evil', [], { router, epoch: 5, counter: index + 1 }));
    for (const message of messagesOf(all)) routing.receive('evil-0', message, now);
  }
  assert.ok(routing.counters.postponed > 0);
  const parts = Array.from({ length: 4_096 }, (_, part) => ({ part, counter: 1, check: 1 }));
  const named = routers.flatMap((router) => {
    const [site] = idOf('evil').split('/');
    return writeDigest(false, new Set(), [{ router: `${site}/${router}`, epoch: 6, parts }], 60_000);
  });
  for (const link of evil) for (const message of named) routing.receive(link, message, now);
  const [nothing = Buffer.alloc(0)] = writeDigest(false, new Set(), [], 60_000);
  const spent = processorTime(() => {
    for (let times = 0; times < 200; times += 1) routing.receive('honest', nothing, now);
  });
  assert.ok(spent < 400, `${spent} ms`);
});

test('high part numbers of invented routers do not slow searches in all parts', () => {
  const routing = victim();
  for (let site = 0; site < 256; site += 1) {
    const all = Array.from({ length: 16 }, (_, router) => record(`invented-${site}`, [], { router: `r${router}`, part: 4_095 }));
    routing.receive('left', records(...all), now);
  }
  assert.equal(routing.counters.accepted, 4_096);
  const spent = processorTime(() => {
    for (let times = 0; times < 50; times += 1) routing.destinations(`key-${times}`);
  });
  assert.ok(spent < 500, `${spent} ms`);
});

test('few bytes do not bring about many, again and again', () => {
  const network = new TestNetwork(['a', 'b']);
  network.facts('a', {
    edge: false,
    keys: Array.from({ length: 10_000 }, (_, index) => ({ routingKey: `key-${index}`, connectors: 1, listeners: 0 })),
  });
  network.link('a', 'b', 1);
  network.converge();
  const routing = network.routing('a');
  const all = new Set(Array.from({ length: 64 }, (_, bucket) => bucket));
  const askers = [writeSummary([]), ...writeDigest(true, all, [], 4096)];
  let bytes = 0;
  for (let index = 0; index < 1000; index += 1) {
    for (const asker of askers) for (const { message } of routing.receive('a-b', asker, network.now)) bytes += message.length;
  }
  assert.ok(bytes < 200_000, `${bytes} bytes`);
  const request = writeRequest([{ router: network.id('a'), parts: Array.from({ length: 256 }, (_, part) => part) }]);
  assert.throws(() => {
    for (let index = 0; index < 1000; index += 1) routing.receive('a-b', request, network.now);
  }, code('routing-request'));
});

test("a message over a link that is not up is the caller's mistake", () => {
  assert.throws(() => victim().receive('nowhere', writeSummary([]), now), code('routing-link'));
});

test('a message longer than allowed ends the link', () => {
  assert.throws(() => victim({ messageBytes: 1000 }).receive('left', Buffer.alloc(1001, 99), now), code('routing-message'));
});

test('noise, mutants and lies are refused with a routing error or taken within bounds', () => {
  const { cases, cut, accepted, mostOutgoing } = fuzz(5_000, 7);
  assert.equal(cases, 5_000);
  assert.ok(cut > 250 && accepted > 25 && mostOutgoing > 0, 'each kind of outcome was met');
});
