import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEFAULT_LIVENESS } from '../../../../src/router/contract.ts';
import { addRoundTrip, judgeSilence, roundTripOf } from '../../../../src/router/link/session/liveness-rule.ts';

describe('silence on a link', () => {
  for (const [silence, roundTrip, expected] of [
    [1_999, undefined, 'alive'],
    [2_000, undefined, 'suspect'],
    [2_000, 0.1, 'suspect'],
    [2_000, 600, 'suspect'],
    [5_900, 3_000, 'alive'],
    [6_000, 3_000, 'suspect'],
    [9_900, 5_000, 'alive'],
    [10_000, 0.1, 'suspect'],
    // A pause of 10 s: TCP may wait as long again, and then for a round trip.
    [20_000, 600, 'suspect'],
    [25_000, 5_000, 'suspect'],
    [29_999, 5_000, 'suspect'],
    [30_000, 0.1, 'dead'],
    [30_000, 5_000, 'dead'],
    [30_000, 10_000, 'suspect'],
    [40_000, 10_000, 'dead'],
  ] as const)
    test(`of ${silence} ms with a round trip of ${roundTrip} ms: the peer is ${expected}`, () => {
      assert.equal(judgeSilence(silence, roundTrip, DEFAULT_LIVENESS), expected);
    });

  test('is never dead before it is suspect, whatever times are set', () => {
    for (const roundTrip of [0.1, 600, 3_000, 5_000])
      for (const deadAfter of [1_000, 15_000])
        for (let silence = 0; silence <= 60_000; silence += 100) {
          const times = { suspectAfter: 2_000, deadAfter };
          const found = judgeSilence(silence, roundTrip, times);
          if (found === 'dead') assert.ok(silence >= 2_000 && silence >= deadAfter && silence >= 4 * roundTrip);
          if (found === 'alive') assert.ok(silence < Math.max(2_000, 2 * roundTrip));
        }
  });
});

test('a pause does not change what is taken for the round trip, a slow path does', () => {
  let samples: readonly number[] = [];
  for (const sample of [1, 1, 10_000, 1]) samples = addRoundTrip(samples, sample);
  assert.equal(roundTripOf(samples), 1);
  for (const sample of [5_000, 5_000, 5_000, 5_000]) samples = addRoundTrip(samples, sample);
  assert.equal(roundTripOf(samples), 5_000);
  assert.equal(roundTripOf([]), undefined);
});
