import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleUnitName, consoleUnitText, unitName, unitsOf, unitText } from '../../../src/cli/actions/systemd-unit.ts';

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

test('the unit of a console stops with its site but is not restarted with it, and prints no link to the journal', () => {
  const program = { command: ['/usr/bin/node', '/opt/earshot/main.js'], home: '/var/lib/earshot' };
  const publicUrls = [new URL('https://console.example.com/a%20b')];
  const text = consoleUnitText({ ...program, namespace: 'west', user: false, account: 'earshot', port: 8090, publicUrls });
  const lines = text.split('\n');
  for (const line of [
    'User=earshot',
    'ExecStart=/usr/bin/node /opt/earshot/main.js -n west console --service --port 8090 --public-url "https://console.example.com/a%%20b"',
    'StopPropagatedFrom=earshot-west.service earshot@west.service',
    'WantedBy=earshot-west.service earshot@west.service',
    'ProtectSystem=strict',
  ])
    assert.ok(lines.includes(line), `${line} in\n${text}`);
  assert.doesNotMatch(text, /^(?:PartOf|BindsTo|Requires)=/m);
  const own = consoleUnitText({ ...program, namespace: 'west', user: true, port: 8090, publicUrls: [], history: '/data/a b' });
  assert.match(own, /^ExecStart=.* --port 8090 --history "\/data\/a b"$/m);
  assert.match(own, /^WantedBy=earshot-west\.service$/m);
  assert.doesNotMatch(own, /^(?:User|ProtectSystem)=/m);
  assert.deepEqual(unitsOf('console', new Map([[consoleUnitName('west'), text]])), []);
});
