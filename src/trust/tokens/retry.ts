import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import type { TrustCode } from '../errors.ts';

export interface Failure {
  /** Undefined if the error is unknown to the trust module, such as a full disk. */
  readonly code: TrustCode | undefined;
  /** Number of consecutive failures, starting at 1. */
  readonly failures: number;
  /** Milliseconds since the first attempt began. */
  readonly since: number;
  /** Milliseconds that the server asks the client to wait. */
  readonly asked: number;
}

export interface Retry {
  /** Milliseconds until the next attempt. */
  readonly after: number;
  /** Not reported yet. A user need not see that a server is still starting. */
  readonly isQuiet: boolean;
}

/**
 * Decides when to retry a token; undefined if that is useless, because the server refused it. Retries are safe, since the same key counts
 * as the same redemption. While the server is unreachable or busy, retries are frequent for a while before a problem is reported. `random`
 * is in [0, 1).
 */
export function retryOf({ code, failures, since, asked }: Failure, random: number): Retry | undefined {
  if (code !== undefined && !PASSING.has(code) && !LASTING.has(code)) return undefined;
  const isOften = code !== undefined && PASSING.has(code) && since < OFTEN_FOR;
  const own = backoffDelay(isOften ? OFTEN : RARELY, failures, random);
  const after = Math.max(own, Math.min(asked, RARELY.max));
  return { after, isQuiet: isOften && since + after < OFTEN_FOR };
}

const OFTEN: Backoff = { first: 250, max: 5_000 };
const RARELY: Backoff = { first: 1_000, max: 60_000 };
const OFTEN_FOR = 30_000;
const PASSING: ReadonlySet<TrustCode> = new Set<TrustCode>(['unreachable', 'server-busy']);
/** Failures that may end by themselves or after a repair. All other codes are about the token. */
const LASTING: ReadonlySet<TrustCode> = new Set<TrustCode>(['server-failed', 'state-unavailable', 'clock-wrong']);
