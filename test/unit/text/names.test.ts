import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGrantName, isHost, isHostName, isLabel, isResourceName, isSiteId, isSiteName, isUuid } from '../../../src/text/names.ts';

const rules = { isLabel, isResourceName, isSiteName, isGrantName, isHostName, isHost, isUuid, isSiteId };
const dns = ['isResourceName', 'isSiteName', 'isGrantName', 'isHostName', 'isHost'] as const;
const uuid = '39f713d0-a644-453f-8452-9421b9f51b9b';

for (const [text, ...expected] of [
  ['a', 'isLabel', ...dns],
  ['a-1', 'isLabel', ...dns],
  ['a.b-c.d', ...dns],
  ['a..b'],
  ['a.-b'],
  ['.a'],
  ['-a'],
  ['a-'],
  ['a.', 'isHostName', 'isHost'],
  ['A.b', 'isHostName', 'isHost'],
  ['my_host', 'isHostName', 'isHost'],
  ['a/b'],
  ['a\n'],
  ['ä'],
  [''],
  ['..'],
  ['127.0.0.1', ...dns],
  ['::1', 'isHost'],
  ['fe80::1%eth0', 'isHost'],
  ['[::1]'],
  ['a'.repeat(63), 'isLabel', ...dns],
  // Kubernetes does not count the characters of a label within a subdomain; DNS does.
  ['a'.repeat(64), 'isResourceName', 'isSiteName', 'isGrantName'],
  ['a'.repeat(200), 'isResourceName', 'isGrantName'],
  ['a'.repeat(253), 'isResourceName'],
  ['a'.repeat(254)],
  [`${'a.'.repeat(126)}a`, 'isResourceName', 'isHostName', 'isHost'],
  [`${'a.'.repeat(126)}aa`],
  [uuid, 'isLabel', ...dns, 'isUuid'],
  [uuid.replace('-453f', '-853f'), 'isLabel', ...dns, 'isUuid', 'isSiteId'],
  [uuid.toUpperCase(), 'isHostName', 'isHost'],
  [`${uuid} `],
] as const) {
  test(`${JSON.stringify(text.slice(0, 70))} (${text.length}) is ${expected.join(', ') || 'no name'}`, () => {
    assert.deepEqual(
      Object.entries(rules).flatMap(([name, rule]) => (rule(text) ? [name] : [])),
      expected,
    );
  });
}
