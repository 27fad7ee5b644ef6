import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../../src/site/cluster-platform.ts';
import { fieldErrors } from '../../../src/site/plan/field-errors.ts';
import { aConnector, aLink, aListener, aMultiKeyListener, aRouterAccess, aSite } from './fixtures.ts';

const machine = { capabilities: new Set<never>(), defaults: { verifyHostname: true } };

for (const [what, object, expected] of [
  [
    'an address in brackets',
    aListener('a', { host: '[::1]' }),
    /^spec\.host "\[::1\]" is neither .*; write ::1\. Use an address of this machine/,
  ],
  ['an address with a port', aListener('a', { host: '127.0.0.1:6379' }), /; write 127\.0\.0\.1, and the port in its own field\./],
  ['an address in brackets with a port', aConnector('a', { host: '[::1]:80' }), /; write ::1, and the port in its own field\.$/],
  ['a URL', aConnector('a', { host: 'http://db' }), /^spec\.host "http:\/\/db" is neither a host name nor an address; write db\.$/],
  [
    'a URL with port and path',
    aConnector('a', { host: 'https://db.example:443/x' }),
    /; write db\.example, and the port in its own field\.$/,
  ],
  ['what is no host at all', aConnector('a', { host: 'a b' }), /^spec\.host "a b" is neither a host name nor an address\.$/],
  ['the host of a MultiKeyListener', aMultiKeyListener('a', { host: 'http://x' }), /; write x\./],
  ['udp', aListener('a', { type: 'udp' }), /^spec\.type "udp" is not supported; use tcp\.$/],
  ['udp of a connector', aConnector('a', { type: 'udp' }), /^spec\.type "udp" is not supported; use tcp\.$/],
  ['a field that narrows rights', aLink('a', { routingKeys: ['x'] }), /^spec\.routingKeys this version cannot/],
  ['a network', aSite({ networkId: 'x' }), /^spec\.networkId this version cannot/],
] as const) {
  test(`${what} is an error of the field`, () => {
    const [error, ...more] = fieldErrors(object, machine);
    assert.deepEqual(more, []);
    assert.match(`${error?.field} ${error?.message}`, expected);
  });
}

test('a rule that depends on other resources is not an error of a field', () => {
  const objects = [
    aListener('a', { host: 'db', tlsCredentials: 'later' }),
    aConnector('a', { tlsCredentials: 'later' }),
    aLink('a', { tlsCredentials: 'later', settings: { 'proxy-configuration': 'later' } }),
    aRouterAccess('a'),
    aSite({ linkAccess: 'default' }),
  ];
  for (const object of objects) for (const platform of [machine, kubernetes]) assert.deepEqual(fieldErrors(object, platform), []);
});
