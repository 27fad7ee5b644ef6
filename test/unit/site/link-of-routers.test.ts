import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkState, RouterState, SiblingLinkState } from '../../../src/router/contract.ts';
import { linkOfRouters } from '../../../src/site/observe/link-of-routers.ts';

const up: LinkState = { operational: true, remoteSiteId: 'e', remoteSiteName: 'east' };
const lost: LinkState = { operational: false, problem: { code: 'lost', message: 'It ended.' } };
const held: SiblingLinkState = { operational: true, remoteSiteId: 'e', remoteSiteName: 'east' };
const connecting: LinkState = { operational: false };
const refused: SiblingLinkState = { operational: false, problem: 'It is refused.' };
const site = { id: 'w', name: 'west', namespace: 'w', platform: 'kubernetes', version: '1' };

function routerState(own: LinkState | undefined, siblings: Readonly<Record<string, SiblingLinkState | undefined>>): RouterState {
  const siblingLinks = Object.fromEntries(
    Object.entries(siblings).map(([name, state]) => [name, state === undefined ? {} : { 'Link/a': state }]),
  );
  return {
    listeners: {},
    connectors: {},
    links: own === undefined ? {} : { 'Link/a': own },
    accesses: {},
    incoming: [],
    network: [{ router: 'one', site, edge: false, links: [], keys: [] }],
    siblingLinks,
  };
}

const notTwo = 'the router two does not have this link: It is refused';

for (const [what, own, siblings, serving, expected] of [
  ['that only this router has', up, { two: refused }, ['two'], [true, notTwo]],
  ['that both have', up, { two: held }, ['two'], [true, undefined]],
  ['that only the other has', lost, { two: held }, ['two'], [true, 'the router one does not have this link: It ended']],
  ['that the other has while this one begins', connecting, { two: held }, ['two'], [true, undefined]],
  ['that the other has, which is about to end', lost, { two: held }, [], [true, 'the router one does not have this link: It ended']],
  ['that no router has', lost, { two: refused }, ['two'], [false, undefined]],
  ['that the other lacks, which does not serve yet or any more', up, { two: refused }, [], [true, undefined]],
  ['that the other is still opening', up, { two: undefined }, ['two'], [true, undefined]],
  ['that the other does not report', up, {}, ['two'], [true, undefined]],
  [
    'that two of three lack',
    up,
    { two: refused, three: refused },
    ['two', 'three'],
    [true, `the router three does not have this link: It is refused; ${notTwo}`],
  ],
  [
    'over which nothing has come for a while',
    { ...up, silentSince: Date.UTC(2026, 0, 1, 17, 32, 1) },
    { two: held },
    ['two'],
    [true, 'silent since 17:32:01Z; new connections use other paths'],
  ],
  ['that was silent and is lost', { ...lost, silentSince: 1 }, { two: refused }, ['two'], [false, undefined]],
  ['that this router does not know yet', undefined, { two: held }, ['two'], [undefined, undefined]],
] as const) {
  test(`a link ${what} is ${expected[0] === true ? 'operational' : 'not operational'}, and its note is ${String(expected[1])}`, () => {
    const found = linkOfRouters('Link/a', { router: routerState(own, siblings), serving });
    assert.deepEqual([found?.operational, found?.note], expected);
  });
}

test('a link that only another router has is with the site that this one says', () => {
  const found = linkOfRouters('Link/a', { router: routerState(lost, { two: held }), serving: ['two'] });
  assert.deepEqual([found?.remoteSiteId, found?.remoteSiteName], ['e', 'east']);
});

test('without a router nothing is known', () => {
  assert.equal(linkOfRouters('Link/a', {}), undefined);
});
