import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { skupperResources } from '../api/skupper/index.ts';
import { networkObservers } from '../api/skupper/network-observer.ts';
import type { KubeClient } from '../kube/contract.ts';
import type { Resource } from '../kube/resource.ts';
import { writeStatus as write, type StatusView } from '../kube/write-status.ts';
import { keyOf, type SiteObject } from '../site/resources.ts';
import type { ListedObserver } from './observer/observers.ts';
import type { Repaired, Repairs } from './repairs.ts';

/** An object whose status the controller writes. */
export type WithStatus = SiteObject | ListedObserver;

export interface StatusViews {
  view(kind: WithStatus['kind']): StatusView<WithStatus>;
}

export function statusResource(kind: WithStatus['kind']): Resource<WithStatus> {
  // Each kind has its own type of objects.
  return (kind === 'NetworkObserver' ? networkObservers : skupperResources[kind]) as Resource<never>;
}

export interface WriteStatusOptions {
  readonly client: KubeClient;
  readonly views: StatusViews;
  readonly repairs: Repairs;
  readonly signal: AbortSignal;
}

/** The status of an object, in the form that the limiter of repairs needs. */
export function repairedStatus(object: WithStatus, status: object): Repaired {
  const desired = { ...object, status };
  return { of: statusResource(object.kind), object: desired, for: keyOf(object), part: 'status' };
}

/**
 * Writes the status if it differs from the current one.
 * @returns milliseconds until the next attempt if another writer keeps reverting it; 0 when done
 */
export async function writeStatus(
  object: WithStatus,
  status: object,
  { client, views, repairs, signal }: WriteStatusOptions,
): Promise<number> {
  const of = statusResource(object.kind);
  if (isDeepStrictEqual(object.status, JSON.parse(JSON.stringify(status)))) return 0;
  const repaired = repairedStatus(object, status);
  const desired = digestOf(status);
  const delay = repairs.delay(repaired, desired);
  await repairs.investigate(repaired, object, signal);
  if (delay > 0) return delay;
  if (await write(of, object, status, { client, view: views.view(object.kind), signal })) repairs.wrote(repaired, desired);
  return 0;
}

/** Excludes times: a condition that is written again has a new one. */
function digestOf(status: object): string {
  const text = JSON.stringify(status, (key, value: unknown) => (key === 'lastTransitionTime' ? undefined : value));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
