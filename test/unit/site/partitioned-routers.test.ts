import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PartitionDetector } from '../../../src/platform/kubernetes/partition-detector.ts';
import type { RouterState } from '../../../src/router/contract.ts';
import { partitionedRouters } from '../../../src/site/observe/partitioned-routers.ts';

const site = { id: '', name: '', namespace: '', platform: '', version: '' };
const network: RouterState['network'] = [{ site, router: 'two', edge: false, links: [], keys: [] }];
const refused = { code: 'refused', message: 'Nothing listens there.' } as const;

describe('routers of a site that are not linked to each other', () => {
  for (const [what, state, serving, told] of [
    ['are none where there is one', {}, [], []],
    ['are none where the other is heard of', { siblingLinks: { one: {} } }, ['one'], []],
    [
      'are reported by the one that is linked to',
      {},
      ['one'],
      [/^the routers one and two .*check that their pods can reach each other at port 5671$/],
    ],
    [
      'are reported by the one that opens the link',
      { siblings: { links: { six: { operational: false, problem: refused } } } },
      ['six'],
      [/listens there$/],
    ],
    ['are reported by the one whose port cannot be opened', { siblings: { problem: refused, links: {} } }, ['one'], [/listens there$/]],
    ['are those that serve clients', { siblingLinks: { one: {} } }, ['one', 'six'], [/^the routers six and two /]],
  ] as const) {
    test(what, () => {
      const all = [...partitionedRouters({ network, ...state }, serving).values()];
      assert.equal(all.length, told.length);
      told.forEach((words, index) => assert.match(all[index] ?? '', words));
    });
  }

  test('are reported once that lasts, and until it ends', () => {
    let now = 0;
    const lasting = new PartitionDetector(() => now);
    const [one, both] = [
      new Map([['one', 'A']]),
      new Map([
        ['one', 'A'],
        ['six', 'B'],
      ]),
    ];
    const none = new Map();
    assert.deepEqual(lasting.report(one), { messages: [], again: 10_000 });
    now = 4_000;
    assert.deepEqual(lasting.report(both), { messages: [], again: 6_000 });
    now = 10_000;
    assert.deepEqual(lasting.report(both), { messages: ['A'], again: 4_000 });
    now = 14_000;
    assert.deepEqual(lasting.report(both), { messages: ['A', 'B'] });
    const otherwise = new Map([...both, ['one', 'C']]);
    assert.deepEqual(lasting.report(otherwise), { messages: ['A', 'B'] });
    assert.deepEqual(lasting.report(none), { messages: [] });
    assert.deepEqual(lasting.report(one), { messages: [], again: 10_000 });
  });
});
