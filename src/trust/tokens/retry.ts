import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import type { TrustCode } from '../errors.ts';

export interface Failure {
  /** Undefined: nothing that this room knows, such as a disk that is full. */
  readonly code: TrustCode | undefined;
  /** How many there were in a row; 1 is the first. */
  readonly failures: number;
  /** Milliseconds since the first attempt began. */
  readonly since: number;
  /** Milliseconds that the server asks us to wait. */
  readonly asked: number;
}

export interface Retry {
  /** Milliseconds. */
  readonly after: number;
  /** Not worth a word yet: whoever waits for a token need not hear that a server just starts. */
  readonly isQuiet: boolean;
}

/**
 * When a token is tried again; undefined where that is of no use: what the server refuses is not asked twice. That it is safe
 * lies in the key: the same key again is the same redemption. Where nobody answers or the server is busy, it is tried often
 * for a while, before anybody is told. `random` is in [0, 1).
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
/** They may go by themselves, or once somebody has mended them. All others are about the token. */
const LASTING: ReadonlySet<TrustCode> = new Set<TrustCode>(['server-failed', 'state-unavailable', 'clock-wrong']);
