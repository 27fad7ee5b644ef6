import { ApiError, TransportError } from '../errors.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'delete';

export type Retry =
  | { readonly again: false }
  /** `refresh`: only if reading the settings again brings others. */
  | { readonly again: true; readonly delay: number; readonly refresh: boolean };

const NO: Retry = { again: false };
const TRIES = 5;
/** A server that asks for more patience than this gets its error handed to the caller, who has a backoff of its own. */
const LONGEST_PAUSE = 10_000;

/**
 * Whether a request that failed may go out again from inside the client. `attempt` counts from 1; `remaining` is what
 * is left of the call's deadline, in milliseconds; `random` is in [0, 1).
 *
 * A write is never sent again where the server may have acted on it. It was certainly not acted on after 429 (flow
 * control refuses before anything else happens), after 401, and where it never left.
 */
export function retryOf(verb: Verb, attempt: number, error: unknown, remaining: number, random: number): Retry {
  if (attempt >= TRIES) return NO;
  if (settingsMayBeOld(error)) return attempt === 1 ? { again: true, delay: 0, refresh: true } : NO;
  if (error instanceof ApiError) return afterAnswer(verb, error, remaining, random);
  if (error instanceof TransportError) return afterBreak(verb, attempt, error);
  return NO;
}

/** Another token, certificate, authority or address: the settings may have changed on disk. The request was not acted on. */
export function settingsMayBeOld(error: unknown): boolean {
  return (error instanceof ApiError && error.status === 401) || (error instanceof TransportError && error.code === 'kube-unreachable');
}

function afterAnswer(verb: Verb, error: ApiError, remaining: number, random: number): Retry {
  const repeatable = verb === 'get' || verb === 'list' || verb === 'apply';
  const asked = error.retryAfterSeconds;
  if (!(error.status === 429 || (error.status === 503 && repeatable && asked !== undefined))) return NO;
  // Requests refused together must not come back together.
  const delay = Math.max(asked ?? 1, 0.1) * 1_000 * (1 + random / 2);
  return delay > LONGEST_PAUSE || delay >= remaining ? NO : { again: true, delay, refresh: false };
}

/** A connection that broke before anything came back is most often a kept-alive one that the server was just closing. */
function afterBreak(verb: Verb, attempt: number, error: TransportError): Retry {
  const read = verb === 'get' || verb === 'list';
  return read && attempt === 1 && error.code === 'kube-cut' && !error.answered ? { again: true, delay: 0, refresh: false } : NO;
}
