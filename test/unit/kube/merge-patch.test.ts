import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { difference } from '../../../src/kube/merge-patch.ts';

describe('the patch from one status to another', () => {
  for (const [from, to, patch] of [
    [undefined, { status: 'Ready' }, { status: 'Ready' }],
    [{ status: 'Ready', message: 'OK' }, { status: 'Ready', message: 'no' }, { message: 'no' }],
    [{ status: 'Ready', endpoints: [1] }, { status: 'Ready' }, { endpoints: null }],
    [{ controller: { name: 'a', version: '1' } }, { controller: { name: 'a', version: '2' } }, { controller: { version: '2' } }],
    [{ conditions: [{ type: 'Ready' }] }, { conditions: [] }, { conditions: [] }],
  ] as const) {
    test(`${JSON.stringify(from)} to ${JSON.stringify(to)}`, () => {
      assert.deepEqual(difference(from, to), patch);
    });
  }
});
