import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limitTable } from '../../../../src/limits/table.ts';
import { KeyMetrics } from '../../../../src/router/local/key-metrics.ts';
import { collectFigures, isShared, type FigureFacts } from '../../../../src/router/shared-figures/collect-figures.ts';

const [WEST, EAST] = ['0a1b2c3d-0000-8000-8000-000000000001', '0a1b2c3d-0000-8000-8000-000000000002'];

function counted(key: string, role: KeyMetrics['role'], opened: number): KeyMetrics {
  const metrics = new KeyMetrics(key, role);
  metrics.opened = opened;
  metrics.open = 1;
  metrics.countFailure('timeout');
  metrics.sites.set(EAST, { site: EAST, opened, failed: 1, toServer: { bytes: opened * 10 }, toClient: { bytes: opened * 100 } });
  return metrics;
}

const facts: FigureFacts = { version: '1', uptime: 1_234.5, keys: [], links: [], configured: [], eventLoopDelay: undefined };

suite('figures that a router shares', () => {
  test('are sums in which a key with a listener counts there only', () => {
    const keys = [counted('web', 'listener', 5), counted('web', 'connector', 3), counted('db', 'connector', 2)];
    const { links, ...figures } = collectFigures({ ...facts, keys, eventLoopDelay: 0.001_26 });
    assert.deepEqual(links, []);
    assert.deepEqual(figures, { version: '1', uptime: 1_235, open: 2, opened: 7, failed: 2, up: 70, down: 700, eventLoopDelay: 1.3 });
  });

  test('have the best link to each site, and one that is down only without another', () => {
    const links = [
      { site: EAST, isSilent: true, cost: 1, roundTrip: 2 },
      { site: EAST, isSilent: false, cost: 9, roundTrip: undefined },
      { site: EAST, isSilent: false, cost: 5, roundTrip: 3.14 },
    ];
    const configured = [
      { operational: false, remoteSiteId: EAST },
      { operational: false, remoteSiteId: WEST },
      // Never opened, so its site is unknown.
      { operational: false },
    ];
    assert.deepEqual(collectFigures({ ...facts, links, configured }).links, [
      { site: WEST, state: 'down' },
      { site: EAST, state: 'up', cost: 5, roundTrip: 3.1 },
    ]);
  });

  test('leave out links that are up, if they are too many', () => {
    const most = limitTable.observedLinks.value;
    const links = Array.from({ length: most + 5 }, (_, at) => ({ site: String(at), isSilent: at === most + 4, cost: 1, roundTrip: 1 }));
    const found = collectFigures({ ...facts, links }).links;
    assert.deepEqual([found.length, found[0]?.state, found[0]?.site], [most, 'silent', String(most + 4)]);
  });

  const client = { certificate: { serials: ['A'], sites: [] } };
  for (const [what, from, fields, expected] of [
    ['the own site', { site: WEST }, {}, { site: true, network: true, none: false }],
    ['the own site, which says so', { site: WEST }, { 'earshot-origin': WEST }, { site: true, network: true, none: false }],
    ['another site', { site: EAST }, {}, { site: false, network: true, none: false }],
    ['another site that claims to be the own one', { site: EAST }, { 'earshot-origin': WEST }, { site: false, network: true, none: false }],
    ['another site through the own one', { site: WEST }, { 'earshot-via': EAST }, { site: false, network: true, none: false }],
    ['a site that began elsewhere', { site: WEST }, { 'earshot-origin': EAST }, { site: false, network: true, none: false }],
    ['a client without a hello', client, {}, { site: false, network: true, none: false }],
  ] as const)
    test(`are for ${what} as the setting says`, () => {
      const found = {
        site: isShared('site', from, fields, WEST),
        network: isShared('network', from, fields, WEST),
        none: isShared('none', from, fields, WEST),
      };
      assert.deepEqual(found, expected);
    });
});
