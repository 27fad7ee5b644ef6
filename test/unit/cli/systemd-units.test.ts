import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitName, unitsOf, unitText } from '../../../src/cli/actions/systemd-unit.ts';

const textOf = (namespace: string): string =>
  unitText({ namespace, command: ['/usr/bin/node', '/opt/earshot/main.js'], home: '/var/lib/earshot', user: false, drainSeconds: 30 });
/** As docs/operate-connection.md makes it. */
const secondOf = (namespace: string): string =>
  textOf(namespace)
    .replace(' run ', ' run --router second ')
    .replace(/^Alias=.*\n/m, '');

test('the units of a namespace are those of all its routers, and of no other namespace', () => {
  const units = new Map([
    [unitName('west'), textOf('west')],
    ['earshot-west-second.service', secondOf('west')],
    [unitName('west-third'), textOf('west-third')],
    ['earshot-west-third-second.service', secondOf('west-third')],
    ['earshot-west-empty.service', ''],
    [unitName('wes'), textOf('wes')],
  ]);
  assert.deepEqual(unitsOf('west', units), ['earshot-west.service', 'earshot-west-second.service']);
  assert.deepEqual(unitsOf('west-third', units), ['earshot-west-third.service', 'earshot-west-third-second.service']);
  assert.deepEqual(unitsOf('wes', units), ['earshot-wes.service']);
});
