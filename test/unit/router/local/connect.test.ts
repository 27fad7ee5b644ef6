import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interleaved } from '../../../../src/router/local/connect.ts';

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
