import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { after, before, mock, test } from 'node:test';
import fc from 'fast-check';
import type { Routing, RoutingLimits } from '../../../src/routing/contract.ts';
import { writeRecords } from '../../../src/routing/codec.ts';
import { writeAbout, writeKey, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import { bottlenecks } from '../../../src/routing/eviction.ts';
import { createRouting } from '../../../src/routing/routing.ts';
import { runToEnd } from '../../../src/limits/sliced.ts';
import { testKey, testSite, testVerify } from './support/network.ts';

/** A router with a view of its own, in which `site/router` names all others. */
class View {
  readonly routing: Routing;
  now = 1_700_000_000_000;
  readonly #adjacent: readonly string[];
  #counter = 100;

  constructor(adjacent: readonly string[], limits: Partial<RoutingLimits>) {
    this.#adjacent = adjacent;
    this.routing = createRouting({ router: 'r', site: testSite('me'), siteKey: testKey('me'), verify: testVerify, limits });
    this.routing.setFacts({ edge: false, keys: [] }, this.now);
    for (const name of adjacent)
      this.routing.adjacencyUp({ router: idOf(name), site: testSite(siteOf(name)), link: name, cost: 1 }, this.now);
  }

  /** All these say who is next to them; both ends of each pair, with cost 1. */
  hear(pairs: readonly (readonly [string, string])[], names: readonly string[], padding = 0): void {
    this.#counter += 1;
    for (const name of names) {
      const others = pairs.flatMap(([left, right]) => (left === name ? [right] : right === name ? [left] : []));
      if (this.#adjacent.includes(name)) others.push('me/r');
      const fields = [
        writeAbout({ name, namespace: '', platform: '', version: '', edge: false }),
        ...others.map((other) => writeNeighbour({ router: idOf(other), cost: 1, link: `${name}-${other}` })),
        writeKey({ routingKey: name, connectors: 1, listeners: 0 }),
        ...(padding === 0 ? [] : [Buffer.concat([Buffer.of(99, padding >> 8, padding & 0xff), Buffer.alloc(padding)])]),
      ];
      const bytes = writeRecord(
        { router: name.slice(siteOf(name).length + 1), epoch: 1, counter: this.#counter, part: 0 },
        fields,
        testKey(siteOf(name)),
      );
      for (const message of writeRecords([{ age: 0, bytes }], 60_000)) this.routing.receive(this.#adjacent[0] ?? '', message, this.now);
    }
    this.pass(1);
  }

  pass(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.now += 1000;
      this.routing.tick(this.now);
      while (this.routing.waiting === 'a turn') this.routing.release(this.now);
    }
  }

  knows(name: string): boolean {
    return this.routing.destinations(name).length === 1;
  }
}

function siteOf(name: string): string {
  return name.slice(0, name.indexOf('/'));
}

function idOf(name: string): string {
  return `${testSite(siteOf(name)).id}/${name.slice(siteOf(name).length + 1)}`;
}

const named = (count: number, name: (index: number) => string): string[] => Array.from({ length: count }, (_, index) => name(index));
const chainOf = (names: readonly string[]): [string, string][] => names.slice(1).map((name, index) => [names[index] ?? '', name]);

// There is time to look for room in, however many others the machine works for.
before(() => mock.method(performance, 'now', () => 0));
after(() => mock.restoreAll());

test('a site keeps as many routers as its limit, nearest first, and other sites find room', () => {
  const view = new View(['near/r'], { routersOfSite: 4 });
  const chain = ['near/r', ...named(10, (index) => `many/r${index}`)];
  // Routers without a slot before those between came are announced again, as summaries do.
  for (let told = 0; told < 3; told += 1) view.hear(chainOf(chain), chain.toReversed());
  assert.deepEqual(
    chain.map((name) => view.knows(name)),
    [...Array(5).fill(true), ...Array(6).fill(false)],
  );
  view.hear([...chainOf(chain), ['near/r', 'late/r']], ['near/r', 'late/r']);
  assert.ok(view.knows('late/r'));
});

test('routers of a site whose names change with each start push out those that are gone', () => {
  const view = new View(['near/r'], { routersOfSite: 2 });
  for (let start = 0; start < 10; start += 1) {
    const name = `pods/r${start}`;
    // Near announces only the new one; its record is newer each time.
    view.now += 1000;
    const pairs = [['near/r', name]] as const;
    const neighbours = [name, 'me/r'].map((other) => writeNeighbour({ router: idOf(other), cost: 1, link: other }));
    const about = writeAbout({ name: 'near', namespace: '', platform: '', version: '', edge: false });
    const bytes = writeRecord({ router: 'r', epoch: 1, counter: start, part: 0 }, [about, ...neighbours], testKey('near'));
    for (const message of writeRecords([{ age: 0, bytes }], 60_000)) view.routing.receive('near/r', message, view.now);
    view.hear(pairs, [name]);
    assert.ok(view.knows(name), name);
  }
});

test('adjacent routers find room, however many others there are', () => {
  const flood = named(60, (index) => `sybil-${index}/r`);
  const adjacent = ['bad/r', 'one/r', 'two/r', 'same/r1', 'same/r2', 'same/r3'];
  const view = new View(adjacent, { routers: 20, routersOfSite: 2 });
  view.hear(
    flood.map((name) => ['bad/r', name] as const),
    ['bad/r', ...flood, ...adjacent.slice(1)],
  );
  for (const name of adjacent) assert.ok(view.knows(name), name);
  assert.ok(view.routing.network().length <= 20);
});

test('the inventions of another site evict no router, however near that site is', () => {
  // The farthest is five routers away; much that is invented is only two away.
  const chain = named(5, (index) => `good-${index}/r`);
  const honest = chainOf(chain);
  for (const shape of ['star', 'chain', 'ring'] as const) {
    const flood = named(80, (index) => `sybil-${index}/r`);
    const invented: (readonly [string, string])[] =
      shape === 'star'
        ? flood.map((name) => ['bad/r', name] as const)
        : chainOf(['bad/r', ...flood, ...(shape === 'ring' ? ['bad/r'] : [])]);
    // The liar really is next to two of the others as well.
    const pairs = [...honest, ['bad/r', 'good-1/r'], ['bad/r', 'good-2/r'], ...invented] as const;
    const view = new View(['good-0/r', 'bad/r'], { routers: 24 });
    view.hear(pairs, [...chain, 'bad/r', ...flood]);
    for (const name of chain) assert.ok(view.knows(name), `${shape}: ${name}`);
    view.hear([...pairs, ['good-4/r', 'late/r']], ['good-4/r', 'late/r']);
    view.hear(pairs, flood);
    for (const name of [...chain, 'late/r']) assert.ok(view.knows(name), `${shape}: ${name} later`);
    assert.ok(view.routing.network().length <= 24, shape);
  }
});

test('bytes count too: the largest holder is evicted, even if it is adjacent', () => {
  const view = new View(['good/r', 'bad/r'], { databaseBytes: 40_000 });
  const flood = named(20, (index) => `sybil-${index}/r`);
  view.hear([['good/r', 'far/r']], ['good/r', 'far/r']);
  view.hear(
    flood.map((name) => ['bad/r', name] as const),
    ['bad/r', ...flood],
    2000,
  );
  for (const name of ['good/r', 'far/r']) assert.ok(view.knows(name), name);
  assert.ok(view.routing.network().length < 24);
});

test('among equal holders the farthest is evicted', () => {
  const ring = named(30, (index) => `s${index}/r`);
  const view = new View(['s0/r', 's29/r'], { routers: 11 });
  for (let told = 0; told < 6; told += 1) view.hear([...chainOf(ring), ['s29/r', 's0/r']], ring);
  const known = ring.filter((name) => view.knows(name));
  assert.deepEqual(known, [...ring.slice(0, 5), ...ring.slice(25)]);
});

test('the sites on every path to a site are found as by leaving out each site in sequence', () => {
  const edge = fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 }));
  fc.assert(
    fc.property(fc.array(edge, { maxLength: 18 }), (edges) => {
      const neighbours = Array.from({ length: 10 }, () => new Set<number>());
      for (const [left, right] of edges) {
        neighbours[left]?.add(right);
        neighbours[right]?.add(left);
      }
      const reached = (without?: number): Set<number> => {
        const found = new Set([0]);
        for (const at of found) for (const next of neighbours[at] ?? []) if (next !== without) found.add(next);
        return found;
      };
      const expected = new Map<number, number>();
      const passed = new Map(
        [...reached()].map((site) => [site, [...reached()].filter((other) => other !== 0 && other !== site && !reached(other).has(site))]),
      );
      // The last of the sites on all paths to it is the one behind all the others.
      for (const [site, all] of passed)
        if (site !== 0)
          expected.set(site, all.toSorted((left, right) => (passed.get(right)?.length ?? 0) - (passed.get(left)?.length ?? 0))[0] ?? 0);
      assert.deepEqual(new Map([...runToEnd(bottlenecks(neighbours))].toSorted()), new Map([...expected].toSorted()));
    }),
  );
});
