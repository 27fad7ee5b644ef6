import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { candidatesInOrder, reachableKeys, type ChoiceView } from '../../../../src/router/local/destination-choice.ts';
import type { Destination } from '../../../../src/router/contract.ts';
import type { RouteDestination } from '../../../../src/routing/contract.ts';
import { there } from './two-sides.ts';

interface World {
  readonly byKey: Readonly<Record<string, readonly RouteDestination[]>>;
  /** `key router` → open connections. */
  readonly loads?: Readonly<Record<string, number>>;
  readonly avoided?: readonly string[];
  /** Routers. */
  readonly silent?: readonly string[];
  readonly random?: () => number;
}

const view = ({ byKey, loads = {}, avoided = [], silent = [], random = () => 0 }: World): ChoiceView => ({
  destinations: (key) => byKey[key] ?? [],
  load: (key, router) => loads[`${key} ${router}`] ?? 0,
  avoided: (key, { router }) => avoided.includes(`${key} ${router}`),
  isSilent: ({ router }) => silent.includes(router),
  random,
});

const order = (destination: Destination, world: World): readonly string[] =>
  candidatesInOrder(destination, view(world)).map(({ routingKey, to }) => `${routingKey} ${to.router}`);

const key = (routingKey: string): Destination => ({ kind: 'key', routingKey });

describe('the choice of a destination', () => {
  it('puts the least cost first, whatever the load', () => {
    const byKey = { k: [there('far', 10), there('near', 1)] };
    assert.deepEqual(order(key('k'), { byKey, loads: { 'k near': 1000 } }), ['k near', 'k far']);
  });

  it('puts destinations over a silent link after all others, also after those that refused and those of other keys', () => {
    const byKey = { one: [there('a'), there('b')], two: [there('c'), there('d')] };
    const destination: Destination = { kind: 'priority', routingKeys: ['one', 'two'] };
    const found = order(destination, { byKey, silent: ['a', 'c'], avoided: ['one b', 'one a'] });
    assert.deepEqual(found, ['two d', 'one b', 'one a', 'two c']);
  });

  it('takes a destination over a silent link where there is no other', () => {
    assert.deepEqual(order(key('k'), { byKey: { k: [there('a')] }, silent: ['a'] }), ['k a']);
  });

  it('takes the one with fewest connections for each connector among equal costs', () => {
    const byKey = { k: [there('big', 1, 10), there('small', 1, 1)] };
    assert.deepEqual(order(key('k'), { byKey, loads: { 'k big': 20, 'k small': 3 } }), ['k big', 'k small']);
    assert.deepEqual(order(key('k'), { byKey, loads: { 'k big': 20, 'k small': 1 } }), ['k small', 'k big']);
  });

  it('lets chance decide among equals', () => {
    const byKey = { k: [there('a'), there('b')] };
    const draws = (values: readonly number[]) => {
      const left = [...values];
      return () => left.shift() ?? 0;
    };
    assert.deepEqual(order(key('k'), { byKey, random: draws([0.9, 0.1]) }), ['k b', 'k a']);
    assert.deepEqual(order(key('k'), { byKey, random: draws([0.1, 0.9]) }), ['k a', 'k b']);
  });

  it('leaves out routers that have no connector any more', () => {
    assert.deepEqual(order(key('k'), { byKey: { k: [there('a', 1, 0)] } }), []);
  });

  it('tries those that refused a moment ago after all others', () => {
    const byKey = { k: [there('near', 1), there('far', 9)] };
    assert.deepEqual(order(key('k'), { byKey, avoided: ['k near'] }), ['k far', 'k near']);
  });

  it('uses the next key by priority only while the first has no connector, and returns to it', () => {
    const destination: Destination = { kind: 'priority', routingKeys: ['main', 'spare'] };
    const spare = [there('b', 1)];
    assert.deepEqual(order(destination, { byKey: { main: [there('a', 50)], spare } }), ['main a', 'spare b']);
    assert.deepEqual(order(destination, { byKey: { spare } }), ['spare b']);
    assert.deepEqual(order(destination, { byKey: { main: [there('a', 50)], spare }, avoided: ['main a'] }), ['spare b', 'main a']);
  });

  it('shares by weight among keys that can be reached', () => {
    const destination: Destination = { kind: 'weighted', routingKeys: { a: 3, b: 1, gone: 100 } };
    const byKey = { a: [there('x')], b: [there('y')] };
    const first = (random: number) => order(destination, { byKey, random: () => random })[0];
    assert.deepEqual([0, 0.74, 0.76, 0.999].map(first), ['a x', 'a x', 'b y', 'b y']);
  });

  it('uses keys of weight 0 only after all others', () => {
    const destination: Destination = { kind: 'weighted', routingKeys: { spare: 0, a: 1 } };
    const spare = [there('y')];
    assert.deepEqual(order(destination, { byKey: { a: [there('x')], spare } }), ['a x', 'spare y']);
    assert.deepEqual(order(destination, { byKey: { spare } }), ['spare y']);
    assert.deepEqual(reachableKeys(destination, view({ byKey: { spare } })), ['spare']);
  });

  it('draws each key about as often as its weight says', () => {
    let state = 1;
    // A fixed sequence (Park and Miller), so that the test always sees the same draws.
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const destination: Destination = { kind: 'weighted', routingKeys: { a: 5, b: 3, c: 2 } };
    const byKey = { a: [there('x')], b: [there('x')], c: [there('x')] };
    const counts: Record<string, number> = {};
    for (let n = 0; n < 10_000; n += 1) {
      const [first = ''] = order(destination, { byKey, random });
      counts[first] = (counts[first] ?? 0) + 1;
    }
    for (const [name, share] of [
      ['a x', 0.5],
      ['b x', 0.3],
      ['c x', 0.2],
    ] as const) {
      assert.ok(Math.abs((counts[name] ?? 0) / 10_000 - share) < 0.02, `${name}: ${counts[name]}`);
    }
  });

  it('names each place that can be reached exactly once, least cost first within a key that has not refused', () => {
    const keys = ['a', 'b', 'c'];
    const place = fc.record({ router: fc.constantFrom('r1', 'r2', 'r3', 'r4'), cost: fc.nat(5), connectors: fc.nat(3) });
    const byKey = fc.dictionary(fc.constantFrom(...keys), fc.uniqueArray(place, { selector: ({ router }) => router }));
    const destination: fc.Arbitrary<Destination> = fc.oneof(
      fc.constantFrom(...keys).map(key),
      fc.array(fc.constantFrom(...keys)).map((routingKeys): Destination => ({ kind: 'priority', routingKeys })),
      fc
        .dictionary(fc.constantFrom(...keys), fc.oneof(fc.nat(5), fc.constant(Number.NaN), fc.constant(-1)))
        .map((routingKeys): Destination => ({ kind: 'weighted', routingKeys })),
    );
    fc.assert(
      fc.property(destination, byKey, fc.double({ min: 0, max: 0.999_999, noNaN: true }), (to, known, chance) => {
        const world = Object.fromEntries(
          Object.entries(known).map(([k, all]) => [k, all.map((p) => there(p.router, p.cost, p.connectors))]),
        );
        const chosen = candidatesInOrder(to, view({ byKey: world, random: () => chance }));
        const expected = reachableKeys(to, view({ byKey: world })).flatMap((k) =>
          (world[k] ?? []).filter(({ connectors }) => connectors > 0).map(({ router }) => `${k} ${router}`),
        );
        assert.deepEqual(chosen.map(({ routingKey, to: { router } }) => `${routingKey} ${router}`).sort(), expected.sort());
        for (const [
          index,
          {
            routingKey,
            to: { cost },
          },
        ] of chosen.entries()) {
          const next = chosen[index + 1];
          if (next?.routingKey === routingKey) assert.ok(cost <= next.to.cost);
        }
      }),
      { numRuns: 300 },
    );
  });
});
