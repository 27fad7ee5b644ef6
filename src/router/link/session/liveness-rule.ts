/** How long a peer may be silent before a link avoids it, and before the link is given up. All numbers in milliseconds. */
export interface LivenessTimes {
  /** After so long without a byte, new connections use other paths. */
  readonly suspectAfter: number;
  /** After so long without a byte, the connection is given up, with all that it carries. */
  readonly deadAfter: number;
}

/**
 * TCP doubles the time between two attempts: after a pause of 10 s it may be silent for another 10 s, and then a round trip passes.
 * See ADR 23.
 */
export const DEFAULT_LIVENESS: LivenessTimes = { suspectAfter: 2_000, deadAfter: 30_000 };

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
