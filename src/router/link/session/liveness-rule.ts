import type { LivenessConfig } from '../../contract.ts';

/** How long a peer may be silent before a link avoids it, and before the link is given up. All numbers in milliseconds. */
export type LivenessTimes = Required<LivenessConfig>;

/** An answer cannot come within one round trip. So many of them may pass, whatever the times are. */
const [SUSPECT_ROUND_TRIPS, DEAD_ROUND_TRIPS] = [2, 4];
/** Milliseconds. A peer that answers later and later cannot put off the end of a link beyond this. */
const MOST_ROUND_TRIP = 10_000;

export type Liveliness = 'alive' | 'suspect' | 'dead';

/**
 * @param silence since the last byte, or since the unanswered ping where that was sent later
 * @param roundTrip undefined before the first answer to a ping
 */
export function judgeSilence(silence: number, roundTrip: number | undefined, times: LivenessTimes): Liveliness {
  const counted = Math.min(roundTrip ?? 0, MOST_ROUND_TRIP);
  const suspectAfter = Math.max(times.suspectAfter, SUSPECT_ROUND_TRIPS * counted);
  const deadAfter = Math.max(suspectAfter, times.deadAfter, DEAD_ROUND_TRIPS * counted);
  if (silence >= deadAfter) return 'dead';
  return silence >= suspectAfter ? 'suspect' : 'alive';
}

/** Samples that a round trip is the least of. A pause makes one of them long, a slow path all. */
const SAMPLES = 4;

export function addRoundTrip(samples: readonly number[], sample: number): readonly number[] {
  return [...samples, sample].slice(-SAMPLES);
}

export function roundTripOf(samples: readonly number[]): number | undefined {
  return samples.length === 0 ? undefined : Math.min(...samples);
}
