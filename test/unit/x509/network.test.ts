import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { networkOf } from '../../../src/x509/network.ts';

describe('networkOf', () => {
  const cases: readonly [string, string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ];
  for (const [address, network] of cases)
    it(`takes ${address === '' ? 'no address' : address} for ${network}`, () => assert.equal(networkOf(address), network));
});
