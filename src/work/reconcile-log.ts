import { performance } from 'node:perf_hooks';
import { messageOf, type Logger } from '../telemetry/log.ts';
import type { Outcome } from './reconcile.ts';

/** Result of one reconcile. */
export interface ReconcileEnd {
  readonly outcome: Outcome;
  /** Milliseconds until the key runs again. */
  readonly retryAfter?: number | undefined;
  readonly error?: unknown;
}

let last = 0;

/**
 * Logs the start of a reconcile at debug. The IDs are unique within a process.
 * @returns a function that logs the result with the same ID; undefined, at no cost, while debug is off
 */
export function logReconcile(log: Logger, queue: string, key: string): ((end: ReconcileEnd) => void) | undefined {
  if (!log.isLevelEnabled('debug')) return undefined;
  last += 1;
  const about = { queue, key, reconcile: last.toString(36) };
  const startedAt = performance.now();
  log.debug(about, 'reconcile started');
  return ({ outcome, retryAfter, error }) => {
    const milliseconds = Math.round(performance.now() - startedAt);
    const next = retryAfter === undefined ? {} : { retryAfter: Math.round(retryAfter) };
    const reason = error === undefined ? {} : { reason: messageOf(error) };
    log.debug({ ...about, outcome, milliseconds, ...next, ...reason }, 'reconcile ended');
  };
}
