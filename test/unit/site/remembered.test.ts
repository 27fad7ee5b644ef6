import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rememberedOf } from '../../../src/site/remembered.ts';
import { aLink } from './fixtures.ts';

const link = aLink('east');
const SITE = '0b6b1f3c-5f0a-8c11-9d2e-3a4b5c6d7e8f';
const [told, learned] = [
  { host: 'east.example', port: '55671' },
  { host: 'east.example', port: 55_671 },
];
const conditions = [{ type: 'Ready', observedGeneration: 2 }];

/** How many endpoints are remembered of such a status. */
const remembered = (status: unknown, spec: unknown = link.spec, generation = 2): number =>
  rememberedOf(link, { metadata: { generation }, spec, status })?.endpoints.length ?? 0;

test('a status written for the current Link yields where its site is reachable', () => {
  const status = { remoteSiteId: SITE, endpoints: [told], conditions };
  assert.deepEqual(rememberedOf(link, { metadata: { generation: 2 }, spec: link.spec, status }), { site: SITE, endpoints: [learned] });
  assert.equal(remembered(status, link.spec, 3), 0, 'written before the spec changed');
  assert.equal(remembered(status, { ...link.spec, endpoints: [told] }), 0, 'written for other endpoints');
});

test('invalid endpoints of a status are ignored', () => {
  const good = { remoteSiteId: SITE, endpoints: [told], conditions };
  const bad = [
    null,
    7,
    'x',
    {},
    { host: 'a b', port: '1' },
    { host: 'a', port: 1 },
    { host: 'a', port: '0' },
    { host: 'a', port: '70000' },
  ];
  assert.equal(remembered({ ...good, endpoints: [...bad, told] }), 1);
  assert.equal(remembered({ ...good, endpoints: Array.from({ length: 1_000 }, () => told) }), 64);
  for (const status of [null, 'x', [], {}, { ...good, endpoints: bad }, { ...good, endpoints: 'x' }, { ...good, conditions: 7 }])
    assert.equal(remembered(status), 0);
  for (const remoteSiteId of [undefined, '', 'east', 7, `${SITE} `, '0b6b1f3c-5f0a-4c11-9d2e-3a4b5c6d7e8f'])
    assert.equal(remembered({ ...good, remoteSiteId }), 0);
  for (const spec of [undefined, null, 'x', {}]) assert.equal(remembered(good, spec ?? 'none'), 0);
});
