import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commonFailure, interleaved } from '../../../../src/router/local/connect.ts';

const of = (...addresses: readonly string[]) => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('the order of addresses', () => {
  const table: readonly (readonly [readonly string[], readonly string[]])[] = [
    [
      ['::1', '::2', '1.1.1.1', '2.2.2.2'],
      ['::1', '1.1.1.1', '::2', '2.2.2.2'],
    ],
    [
      ['1.1.1.1', '::1', '::2', '::3'],
      ['1.1.1.1', '::1', '::2', '::3'],
    ],
    [
      ['1.1.1.1', '2.2.2.2', '::1'],
      ['1.1.1.1', '::1', '2.2.2.2'],
    ],
    [['1.1.1.1'], ['1.1.1.1']],
    [[], []],
  ];
  for (const [given, expected] of table) {
    it(`takes the families in turn: ${given.join(', ') || 'none'}`, () => {
      assert.deepEqual(interleaved(of(...given)), expected);
    });
  }
});

describe('the failure of a server with several addresses', () => {
  const refused = { address: '10.0.0.2', failure: { code: 'refused', message: 'Connection refused: 10.0.0.2.' } } as const;
  const other = { address: '10.0.0.1', failure: { code: 'refused', message: 'Connection refused: 10.0.0.1.' } } as const;
  const noRoute = { address: '::1', failure: { code: 'unreachable', message: 'Unreachable: ::1.' } } as const;

  it('is the same in whatever order they were tried', () => {
    for (const order of [
      [refused, other, noRoute],
      [noRoute, refused, other],
      [other, noRoute, refused],
      [refused, noRoute, other],
    ]) {
      assert.deepEqual(commonFailure(order), { code: 'refused', message: 'Connection refused: 10.0.0.1. Its other addresses failed too.' });
    }
  });

  it('of one address is its own', () => {
    assert.equal(commonFailure([noRoute]), noRoute.failure);
  });
});
