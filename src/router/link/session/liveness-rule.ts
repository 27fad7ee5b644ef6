import type { LivenessConfig } from '../../contract.ts';

/** Times in milliseconds that a peer may be silent before its link is avoided, and before the link is closed. */
export type LivenessTimes = Required<LivenessConfig>;

/** An answer takes at least one round trip, so these numbers of round trips may pass, whatever the times are. */
const [SUSPECT_ROUND_TRIPS, DEAD_ROUND_TRIPS] = [2, 4];
/** Milliseconds. Limits how far a peer that answers ever later can postpone the end of a link. */
const MOST_ROUND_TRIP = 10_000;

export type Liveliness = 'alive' | 'suspect' | 'dead';

/**
 * @param silence milliseconds since the last byte, or since the unanswered ping if that is later
 * @param roundTrip undefined before the first answer to a ping
 */
export function judgeSilence(silence: number, roundTrip: number | undefined, times: LivenessTimes): Liveliness {
  const counted = Math.min(roundTrip ?? 0, MOST_ROUND_TRIP);
  const suspectAfter = Math.max(times.suspectAfter, SUSPECT_ROUND_TRIPS * counted);
  const deadAfter = Math.max(suspectAfter, times.deadAfter, DEAD_ROUND_TRIPS * counted);
  if (silence >= deadAfter) return 'dead';
  return silence >= suspectAfter ? 'suspect' : 'alive';
}

/** Number of samples whose minimum is the round-trip time. A pause lengthens one sample, a slow path all. */
const SAMPLES = 4;

export function addRoundTrip(samples: readonly number[], sample: number): readonly number[] {
  return [...samples, sample].slice(-SAMPLES);
}

export function roundTripOf(samples: readonly number[]): number | undefined {
  return samples.length === 0 ? undefined : Math.min(...samples);
}
