import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { median, percentile } from '../../../bench/statistics.ts';

it('takes the middle sample as the median, and the mean of the two in the middle of an even number', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 9, 2]), 3);
  assert.equal(median([7]), 7);
});

it('counts percentiles by nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(percentile(hundred, 0.99), 99);
  assert.equal(percentile(hundred, 0.5), 50);
  assert.equal(percentile([3, 1, 2], 0.99), 3);
});

it('answers with a sample, and never with a lower one for a larger share', () => {
  const samples = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 });
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(samples, share, share, (measured, a, b) => {
      const [low, high] = [percentile(measured, Math.min(a, b)), percentile(measured, Math.max(a, b))];
      assert.ok(measured.includes(low) && measured.includes(high) && low <= high);
    }),
  );
});

it('refuses to make a figure of nothing', () => {
  assert.throws(() => median([]), TypeError);
  assert.throws(() => percentile([], 0.5), TypeError);
});
