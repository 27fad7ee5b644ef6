import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { writeRecords } from '../../../src/routing/codec.ts';
import { writeAbout, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import { TestNetwork, testKey } from './support/network.ts';
import { differences, impossiblePaths } from './support/reference.ts';

const keys = ['red', 'green', 'blue'];
const names = ['a/1', 'a/2', 'b', 'c', 'd/1', 'd/2', 'e'];
/** Repeats what others said before, and claims edges that it has not. It is an edge site, so no route depends on it. */
const liar = 'liar';
const all = [...names, liar];
const pairs = all.flatMap((left, index) => all.slice(index + 1).map((right) => [left, right] as const));

type Step =
  | { readonly kind: 'link'; readonly pair: number; readonly cost: number; readonly second: boolean; readonly confines: 0 | 1 | undefined }
  | { readonly kind: 'cut'; readonly link: number }
  | { readonly kind: 'facts'; readonly router: number; readonly edge: boolean; readonly counts: readonly number[] }
  | { readonly kind: 'restart'; readonly router: number; readonly clock: number }
  | { readonly kind: 'deliver'; readonly count: number }
  | { readonly kind: 'replay'; readonly message: number; readonly link: number }
  | { readonly kind: 'lie'; readonly link: number; readonly later: number }
  | { readonly kind: 'pass'; readonly seconds: number };

const nat = fc.nat({ max: 1000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('link' as const),
      pair: nat,
      cost: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(65_535)),
      second: fc.boolean(),
      confines: fc.constantFrom(undefined, undefined, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), link: nat }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('facts' as const),
      router: nat,
      edge: fc.boolean(),
      counts: fc.array(fc.nat({ max: 8 }), { minLength: 3, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('restart' as const), router: nat, clock: fc.integer({ min: -86_400_000, max: 86_400_000 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('deliver' as const), count: fc.nat({ max: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('replay' as const), message: nat, link: nat }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lie' as const), link: nat, later: fc.constantFrom(0, 1, 86_400_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 30 }) }) },
);

function take(network: TestNetwork, created: Step, choose: (count: number) => number): void {
  switch (created.kind) {
    case 'link': {
      const [left, right] = pairs[created.pair % pairs.length] ?? ['b', 'c'];
      network.link(left, right, created.cost, `${left}-${right}${created.second ? '-second' : ''}`, [left, right][created.confines ?? 2]);
      break;
    }
    case 'cut': {
      const { links } = network;
      const link = links[created.link % Math.max(1, links.length)];
      if (link !== undefined) network.cut(link.name);
      break;
    }
    case 'facts':
      network.facts(names[created.router % names.length] ?? 'b', {
        edge: created.edge,
        keys: created.counts.flatMap((count, index) =>
          count === 0 ? [] : [{ routingKey: keys[index] ?? '', connectors: count >> 1, listeners: count & 1 }],
        ),
      });
      break;
    case 'restart':
      network.start(names[created.router % names.length] ?? 'b', network.now + created.clock);
      break;
    case 'deliver':
      for (let left = created.count; left > 0; left -= 1) network.deliver(choose);
      break;
    case 'replay':
      network.replay(liar, created.message, created.link);
      break;
    case 'lie':
      network.send(liar, created.link, writeRecords([{ age: 0, bytes: lie(network, created.later) }], 4096)[0] ?? Buffer.alloc(0));
      break;
    case 'pass':
      network.pass(created.seconds * 1000, choose);
      break;
  }
}

/** A record of the liar's own, which it may sign: next to everybody, at least cost. */
function lie(network: TestNetwork, later: number): Buffer {
  return writeRecord(
    { router: 'r', epoch: network.now + later, counter: 1000, part: 0 },
    [
      writeAbout({ name: 'liar', namespace: '', platform: '', version: '', edge: true }),
      ...names.map((name, index) => writeNeighbour({ router: network.id(name), cost: 1, link: `claim-${index}` })),
    ],
    testKey(liar),
  );
}

test('after any story of links, restarts, replays and clocks, quiet routers answer what the network is, and never with a loop before', (t) => {
  // The network has a clock of its own, and a busy machine is not to make paths wait by it.
  t.mock.method(performance, 'now', () => 0);
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), fc.infiniteStream(nat), (story, dice) => {
      const choose = (count: number): number => Number(dice.next().value) % count;
      const network = new TestNetwork(all, {}, { remember: 200 });
      network.facts(liar, { edge: true, keys: [] });
      for (const created of story) {
        take(network, created, choose);
        assert.deepEqual(impossiblePaths(network, keys), []);
      }
      network.converge(choose);
      assert.deepEqual(impossiblePaths(network, keys), []);
      assert.deepEqual(differences(network, keys, names), []);
      assert.ok(network.longest <= 32_768);
      // Each step, and each own record that it brings about, passes each link at most a few times.
      assert.ok(
        network.delivered <= 60 * (story.length + names.length) * (network.mostLinks + 1),
        `${network.delivered} messages for ${story.length} steps`,
      );
    }),
    { numRuns: Number(process.env['ROUTING_RUNS'] ?? 60) },
  );
});
