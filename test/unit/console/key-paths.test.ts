import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Facts, KeyFacts, SiteFacts } from '../../../src/console/facts.ts';
import { noFacts } from '../../../src/console/facts.ts';
import { candidatesOf, keyPaths } from '../../../src/console/key-paths.ts';

interface Options {
  /** `a-b` or `a-b:COST`. */
  readonly links: readonly string[];
  readonly edge?: readonly string[];
}

/** Sites named by single letters, the first one of them this site. */
function network({ links, edge = [] }: Options): Facts {
  const found = links.map((text) => {
    const [, one = '', other = '', cost = '1'] = /^(\w)-(\w)(?::(-?\d+))?$/.exec(text) ?? [];
    return { one, other, cost: Number(cost) };
  });
  const ids = [...new Set(found.flatMap(({ one, other }) => [one, other]))].toSorted();
  const sites = ids.map((id): SiteFacts => {
    const own = found.flatMap(({ one, other, cost }) => (one === id ? [{ other, cost }] : other === id ? [{ other: one, cost }] : []));
    return {
      id,
      name: id.toUpperCase(),
      namespace: '',
      platform: '',
      version: '',
      edge: edge.includes(id),
      routers: [],
      links: own.map(({ other, cost }) => ({ siteId: other, siteName: other.toUpperCase(), cost })),
    };
  });
  return { ...noFacts, sites };
}

const keyOf = (listeners: string, connectors: string): KeyFacts => {
  const counts = (ids: string): KeyFacts['listeners'] => [...ids].map((site) => ({ site, count: 1 }));
  return { key: 'web', listeners: counts(listeners), connectors: counts(connectors), reachable: true };
};

const textOf = (facts: Facts, key: KeyFacts): readonly string[] =>
  keyPaths(facts, key).map(({ from, cost = 'none', path }) => `${from.id} ${cost} ${path.map(({ name }) => name).join('')}`);

const cases: readonly (readonly [string, Options, string, string, readonly string[]])[] = [
  ['the cheapest way leads over more sites', { links: ['a-b:5', 'a-c', 'c-b'] }, 'a', 'b', ['a 2 ACB']],
  ['each listener uses its nearest connector', { links: ['a-b', 'b-c', 'c-d'] }, 'ad', 'bc', ['a 1 AB', 'd 1 DC']],
  ['connectors of equal cost are all listed', { links: ['a-b', 'a-c', 'b-d', 'c-e'] }, 'a', 'de', ['a 2 ABD', 'a 2 ACE']],
  ['a connector at the site of the listener is used', { links: ['a-b'] }, 'a', 'ab', ['a 0 A']],
  ['an edge site carries nothing between others', { links: ['a-b', 'b-c', 'a-d:9', 'd-c:9'], edge: ['b'] }, 'a', 'c', ['a 18 ADC']],
  ['an edge site may be either end', { links: ['a-b', 'b-c'], edge: ['a', 'c'] }, 'a', 'c', ['a 2 ABC']],
  ['a listener without a path is listed', { links: ['a-b', 'c-d'] }, 'a', 'd', ['a none ']],
  ['a key without a connector has no paths', { links: ['a-b'] }, 'a', '', ['a none ']],
  ['a site that is gone has no path', { links: ['a-b'] }, 'xa', 'b', ['x none ', 'a 1 AB']],
];

for (const [what, options, listeners, connectors, expected] of cases) {
  test(`paths of a key: ${what}`, () => {
    assert.deepEqual(textOf(network(options), keyOf(listeners, connectors)), expected);
  });
}

test('candidates have the paths of this site in the order of choice, and those without a path are last', () => {
  const facts = network({ links: ['a-b', 'b-c:3', 'd-e'] });
  assert.deepEqual(
    candidatesOf(facts, keyOf('a', 'ecab')).map(({ site, cost, path }) => [site, cost, path.join('')]),
    [
      ['a', 0, 'A'],
      ['b', 1, 'AB'],
      ['c', 4, 'ABC'],
      ['e', undefined, ''],
    ],
  );
});

test('any announced costs give paths that end, at most 500 for a key', () => {
  const letter = fc.constantFrom(...'abcdefgh');
  const link = fc.tuple(letter, letter, fc.integer({ min: -5, max: 5 })).map(([one, other, cost]) => `${one}-${other}:${cost}`);
  const some = fc.array(letter, { maxLength: 8 }).map((letters) => letters.join(''));
  fc.assert(
    fc.property(fc.array(link, { maxLength: 20 }), some, some, (links, listeners, connectors) => {
      const paths = keyPaths(network({ links }), keyOf(listeners, connectors));
      for (const { from, to, path } of paths) {
        if (to === undefined) continue;
        assert.deepEqual([path[0]?.id, path.at(-1)?.id], [from.id, to.id]);
        assert.equal(new Set(path.map(({ id }) => id)).size, path.length);
      }
    }),
  );
  const star = network({ links: [...'bcdefghijklmnopqrstuvwxyz'].flatMap((each) => [`a-${each}`]) });
  const all = keyOf('bcdefghijklmnopqrstuvwxyz', 'a').listeners;
  const many = { ...keyOf('', 'a'), listeners: Array.from({ length: 40 }, () => all).flat() };
  assert.equal(keyPaths(star, many).length, 500);
});
