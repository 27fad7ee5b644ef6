import type { LinkCode } from '../link-errors.ts';
import { backoff } from '../backoff.ts';

/**
 * Milliseconds until a link is tried again, after so many failures in a row. What passes by itself (a cut cable, a site that
 * starts anew) is tried often: a network that heals should carry within seconds, and such an attempt costs little. What a
 * person has to mend costs the other end a TLS handshake each time.
 */
export function retryDelay(code: LinkCode, failures: number, random: number): number {
  return backoff(FIRST, PASSING.has(code) ? MOST_PASSING : MOST_LASTING, failures, random);
}

const FIRST = 100;
const MOST_PASSING = 3_000;
const MOST_LASTING = 10_000;
const PASSING: ReadonlySet<LinkCode> = new Set<LinkCode>([
  'name-unknown',
  'refused',
  'unreachable',
  'timeout',
  'silent',
  'lost',
  'closed',
  'draining',
]);
