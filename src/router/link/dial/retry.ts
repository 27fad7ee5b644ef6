import type { LinkCode } from '../link-errors.ts';
import { backoffDelay, type Backoff } from '../../../work/backoff.ts';

/**
 * Milliseconds until a link is tried again, after so many failures in a row. What passes by itself (a cut cable, a site that
 * starts anew) is tried often: a network that heals should carry within seconds, and such an attempt costs little. What a
 * person has to mend costs the other end a TLS handshake each time.
 */
export function retryDelay(code: LinkCode, failures: number, random: number): number {
  return backoffDelay(PASSING.has(code) ? BACKOFF_PASSING : BACKOFF_LASTING, failures, random);
}

const BACKOFF_PASSING: Backoff = { first: 100, max: 3_000 };
const BACKOFF_LASTING: Backoff = { first: 100, max: 10_000 };
const PASSING: ReadonlySet<LinkCode> = new Set<LinkCode>([
  'name-unknown',
  'refused',
  'unreachable',
  'timeout',
  'silent',
  'lost',
  'closed',
  'draining',
  // As a site answers that is just being moved from another system to this one.
  'not-earshot',
]);
