import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VolumeSizes } from '../../../../src/exposure/csi/volume-sizes.ts';

const range = (requiredBytes: bigint, limitBytes = 0n) => ({ requiredBytes, limitBytes });

describe('the sizes of volumes that were made lately', () => {
  it('are what was asked for first, as long as later requests admit it', () => {
    const sizes = new VolumeSizes();
    sizes.remember('a', sizes.sizeFor('a', range(5n)));
    assert.equal(sizes.sizeFor('a', range(5n, 5n)), 5n);
    assert.equal(sizes.sizeFor('a', range(3n, 9n)), 5n);
    assert.equal(sizes.sizeFor('a', undefined), 5n);
    assert.throws(() => sizes.sizeFor('a', range(6n)), { code: 'volume-exists' });
    assert.throws(() => sizes.sizeFor('a', range(0n, 4n)), { code: 'volume-exists' });
    sizes.forget('a');
    assert.equal(sizes.sizeFor('a', range(6n)), 6n);
  });

  it('may be none at all', () => assert.equal(new VolumeSizes().sizeFor('a', undefined), 0n));

  it('must be possible', () => {
    for (const impossible of [range(2n, 1n), range(-1n), range(0n, -1n)]) {
      assert.throws(() => new VolumeSizes().sizeFor('a', impossible), { code: 'csi-capacity' });
    }
  });

  it('are forgotten one by one, the oldest first, so that they take no more memory', () => {
    const sizes = new VolumeSizes();
    sizes.remember('kept', 1n);
    for (let count = 0; count < 1_023; count += 1) sizes.remember(`v-${count}`, 1n);
    sizes.remember('kept', 1n);
    sizes.remember('one more', 1n);
    assert.equal(sizes.has('v-0'), false);
    assert.equal(sizes.has('v-1'), true);
    assert.equal(sizes.has('kept'), true);
  });
});
