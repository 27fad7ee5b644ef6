/** Status while no router runs. A status that an earlier process wrote must not appear as current. */

import type { ConditionReason } from '../errors/condition-reason.ts';
import { isRecord } from '../text/is-record.ts';

export interface StaleStatus {
  readonly status: 'Pending' | 'Error';
  readonly reason: ConditionReason;
  readonly message: string;
}

export const starting: StaleStatus = { status: 'Pending', reason: 'Starting', message: 'the router starts' };

export const stopping: StaleStatus = { status: 'Pending', reason: 'Stopping', message: 'the router is stopping' };

export function cannotStart(why: string): StaleStatus {
  return { status: 'Error', reason: 'CannotStart', message: `the router cannot start: ${why}` };
}

/**
 * Returns the status of a resource whose router does not run. All conditions are Unknown, and fields that only a router can provide are
 * removed.
 */
export function markedStale(
  kind: string,
  status: object,
  { status: word, reason, message }: StaleStatus,
  now: string,
): Readonly<Record<string, unknown>> {
  const { conditions } = status as { readonly conditions?: unknown };
  return {
    ...Object.fromEntries(Object.entries(status).filter(([field]) => !ofRouter.has(field) || (kind === 'Link' && field === 'endpoints'))),
    status: word,
    message,
    conditions: (Array.isArray(conditions) ? conditions : [])
      .filter(isRecord)
      .map((condition) => ({ ...condition, status: 'Unknown', lastTransitionTime: now, reason, message })),
  };
}

/**
 * Fields that are valid only while a router runs. A Link's endpoints are kept: the remote site announced them, and the next router starts
 * with them.
 */
const ofRouter: ReadonlySet<string> = new Set([
  'hasMatchingConnector',
  'hasMatchingListener',
  'hasDestination',
  'strategy',
  'network',
  'sitesInNetwork',
  'incomingLinks',
  'endpoints',
  'url',
]);

/** RFC 3339, in seconds. */
export function timestamp(now: number = Date.now()): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
