import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LatencySteps, mergeLatencies, percentilesOf } from '../../../src/telemetry/latency-steps.ts';

const stepsOf = (latencies: readonly number[]): LatencySteps => {
  const steps = new LatencySteps();
  for (const each of latencies) steps.add(each);
  return steps;
};

test('a percentile is at most 19 % above the latency that it stands for, from 0.1 ms to 60 s', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.1, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 200 }), (latencies) => {
      const sorted = latencies.toSorted((one, other) => one - other);
      const { p50, p95, p99 } = percentilesOf(stepsOf(latencies).counts) ?? { p50: 0, p95: 0, p99: 0 };
      for (const [found, part] of [
        [p50, 0.5],
        [p95, 0.95],
        [p99, 0.99],
      ] as const) {
        const exact = sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
        // Bounds are rounded to three digits.
        assert.ok(found >= exact * 0.994 && found <= exact * 1.196, `${found} for ${exact}`);
      }
    }),
  );
});

test('latencies beyond both ends count at the ends', () => {
  assert.deepEqual(
    [...stepsOf([0, 0.05, 100_000, Infinity]).counts],
    [
      [0.1, 2],
      [60_000, 2],
    ],
  );
});

test('counts of several routers are one, and none give no percentiles', () => {
  const merged = mergeLatencies([stepsOf([1]).counts, stepsOf([1, 50]).counts]);
  assert.equal(
    [...merged.values()].reduce((sum, count) => sum + count, 0),
    3,
  );
  assert.equal(percentilesOf(merged)?.p50, percentilesOf(stepsOf([1]).counts)?.p50);
  assert.equal(percentilesOf(new Map()), undefined);
});
