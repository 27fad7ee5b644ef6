/** Statuses while no router stands behind them: what an earlier process wrote must not be taken for what is so now. */

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

/** The status of a resource whose router does not run: nothing of it is known, and what only a router can say is left out. */
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

/** What is so only while a router runs. Where the site at the other end of a Link is reached, it has said itself: the next router begins with it. */
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

/** RFC 3339, seconds. */
export function timestamp(now: number = Date.now()): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
