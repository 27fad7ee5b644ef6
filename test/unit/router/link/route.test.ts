import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextStep } from '../../../../src/router/link/route.ts';
import { siteOf } from '../../../../src/routing/names.ts';

const router = (number: number): string => `00000000-0000-8000-8000-${String(number).padStart(12, '0')}/main`;
const [self, next, last] = [router(1), router(2), router(3)];

const cases: readonly { readonly what: string; readonly route: string | undefined; readonly edge?: boolean; readonly step: object }[] = [
  { what: 'without a route a connection enters here', route: undefined, step: { kind: 'enter' } },
  { what: 'a route that ends here is accepted', route: self, step: { kind: 'accept' } },
  {
    what: 'a route that leads on is forwarded without this router',
    route: `${self} ${next} ${last}`,
    step: { kind: 'forward', next, rest: `${next} ${last}` },
  },
  { what: 'an edge router accepts', route: self, edge: true, step: { kind: 'accept' } },
  { what: 'an edge router forwards nothing', route: `${self} ${next}`, edge: true, step: { kind: 'refuse', status: 502 } },
  { what: 'a route of another router is refused', route: next, step: { kind: 'refuse', status: 421 } },
  { what: 'a route that comes back is a loop', route: `${self} ${next} ${self}`, step: { kind: 'refuse', status: 508 } },
  {
    what: 'a route that visits another router twice is a loop',
    route: `${self} ${next} ${last} ${next}`,
    step: { kind: 'refuse', status: 508 },
  },
  {
    what: 'a route of 32 routers is followed',
    route: [self, ...Array.from({ length: 31 }, (_, at) => router(at + 2))].join(' '),
    step: { kind: 'forward', next },
  },
  {
    what: 'a route of 33 routers is too long',
    route: [self, ...Array.from({ length: 32 }, (_, at) => router(at + 2))].join(' '),
    step: { kind: 'refuse', status: 508 },
  },
  { what: 'a route without end is too long', route: 'x'.repeat(16_000), step: { kind: 'refuse', status: 508 } },
  { what: 'an empty route is malformed', route: '', step: { kind: 'refuse', status: 400 } },
  { what: 'a route with two spaces is malformed', route: `${self}  ${next}`, step: { kind: 'refuse', status: 400 } },
  { what: 'a route that climbs out of a folder is malformed', route: `${self} ../../etc/passwd`, step: { kind: 'refuse', status: 400 } },
];

for (const { what, route, edge = false, step } of cases) {
  test(what, () => assert.partialDeepStrictEqual(nextStep(route, self, edge), step));
}

const sibling = `${self.slice(0, self.indexOf('/'))}/net-apps`;

for (const [what, route, from, kind] of [
  ['from another router of the site to another site', `${self} ${next}`, siteOf(self), 'forward'],
  ['from another site to another router of the site', `${self} ${sibling}`, siteOf(next), 'forward'],
  ['from another site to another site', `${self} ${next}`, siteOf(next), 'refuse'],
  ['from another site through another router of the site', `${self} ${sibling} ${next}`, siteOf(next), 'refuse'],
  ['from a client whose site is unknown', `${self} ${next}`, undefined, 'refuse'],
] as const) {
  test(`an edge site's router decides ${kind} for a request ${what}`, () => assert.equal(nextStep(route, self, true, from).kind, kind));
}
