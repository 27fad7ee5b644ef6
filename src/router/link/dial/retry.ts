import type { LinkCode } from '../link-errors.ts';
import { backoffDelay, type Backoff } from '../../../work/backoff.ts';

/**
 * Milliseconds until the next attempt, after a number of consecutive failures. Transient errors, such as a cut cable or a restarting site,
 * are retried often. A healed network should work within seconds, and an attempt costs little. Errors that need an administrator cost the
 * other end a TLS handshake for each attempt.
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
  // Transient: a site answers like this while it is moved from another system to this one.
  'not-earshot',
]);
