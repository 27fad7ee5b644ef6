import assert from 'node:assert/strict';
import { test } from 'node:test';
import { siteRouters } from '../../../src/site/site-routers.ts';
import { aSite } from './fixtures.ts';

const GIB = 2 ** 30;

for (const [setting, cores, expected] of [
  [undefined, 1, 1],
  [undefined, 2, 1],
  [undefined, 3, 1],
  [undefined, 4, 2],
  ['auto', 8, 4],
  ['auto', 64, 8],
  ['3', 2, 3],
  ['16', 2, 16],
  ['17', 4, 2],
  ['0', 4, 2],
  ['two', 4, 2],
  ['', 4, 2],
] as const) {
  test(`${setting === undefined ? 'no setting' : JSON.stringify(setting)} on ${cores} cores is ${expected} routers`, () => {
    assert.equal(
      siteRouters(aSite(setting === undefined ? {} : { settings: { routers: setting } }), { cores, memory: 64 * GIB }),
      expected,
    );
  });
}

test('a Site with ha has two routers at least, unless its setting says otherwise', () => {
  assert.equal(siteRouters(aSite({ ha: true }), { cores: 2, memory: GIB }), 2);
  assert.equal(siteRouters(aSite({ ha: true }), { cores: 8, memory: GIB }), 4);
  assert.equal(siteRouters(aSite({ ha: true, settings: { routers: '1' } }), { cores: 2, memory: GIB }), 1);
});

test('a namespace without a Site has the number of routers that an omitted setting gives', () => {
  assert.equal(siteRouters(undefined, { cores: 4, memory: GIB }), 2);
});

for (const [what, site] of [
  ['an invalid setting', aSite({ settings: { routers: 'many' } })],
  ['no Site', undefined],
] as const) {
  test(`${what} keeps the number of routers until now`, () => {
    assert.equal(siteRouters(site, { cores: 4, memory: GIB }, 3), 3);
  });
}

test('an omitted setting changes the number of routers until now', () => {
  assert.equal(siteRouters(aSite(), { cores: 4, memory: GIB }, 3), 2);
});

test('little memory limits the number of routers that cores alone would give', () => {
  assert.equal(siteRouters(aSite(), { cores: 16, memory: GIB / 2 }), 2);
  assert.equal(siteRouters(aSite(), { cores: 16, memory: GIB / 8 }), 1);
});
