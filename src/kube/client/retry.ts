import { ApiError, TransportError } from '../errors.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'delete';

export type Retry =
  | { readonly again: false }
  /** `refresh`: retry only if reading the settings again changes them. */
  | { readonly again: true; readonly delay: number; readonly refresh: boolean };

const NO: Retry = { again: false };
const TRIES = 5;
/** Maximum delay in milliseconds. If the server asks for more, the caller gets the error and uses its own backoff. */
const LONGEST_PAUSE = 10_000;

/**
 * Whether the client may retry a failed request. `attempt` counts from 1, `remaining` is the rest of the call's deadline in
 * milliseconds, `random` is in [0, 1).
 *
 * A write is never repeated if the server may have processed it. It certainly did not after 429 (flow control comes first), after
 * 401, and if it was never sent.
 */
export function retryOf(verb: Verb, attempt: number, error: unknown, remaining: number, random: number): Retry {
  if (attempt >= TRIES) return NO;
  if (settingsMayBeOld(error)) return attempt === 1 ? { again: true, delay: 0, refresh: true } : NO;
  if (error instanceof ApiError) return afterAnswer(verb, error, remaining, random);
  if (error instanceof TransportError) return afterBreak(verb, attempt, error);
  return NO;
}

/** Whether the token, certificate, CA or address may have changed on disk. The server did not process the request. */
export function settingsMayBeOld(error: unknown): boolean {
  return (error instanceof ApiError && error.status === 401) || (error instanceof TransportError && error.code === 'kube-unreachable');
}

function afterAnswer(verb: Verb, error: ApiError, remaining: number, random: number): Retry {
  const repeatable = verb === 'get' || verb === 'list' || verb === 'apply';
  const asked = error.retryAfterSeconds;
  if (!(error.status === 429 || (error.status === 503 && repeatable && asked !== undefined))) return NO;
  // Jitter, so that requests refused together are not retried together.
  const delay = Math.max(asked ?? 1, 0.1) * 1_000 * (1 + random / 2);
  return delay > LONGEST_PAUSE || delay >= remaining ? NO : { again: true, delay, refresh: false };
}

/** A connection that broke before a response was most likely a kept-alive one that the server was closing. */
function afterBreak(verb: Verb, attempt: number, error: TransportError): Retry {
  const read = verb === 'get' || verb === 'list';
  return read && attempt === 1 && error.code === 'kube-cut' && !error.answered ? { again: true, delay: 0, refresh: false } : NO;
}
