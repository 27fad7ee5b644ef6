import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { skupperResources } from '../api/skupper/index.ts';
import type { KubeClient } from '../kube/contract.ts';
import type { Resource } from '../kube/resource.ts';
import { writeStatus as write, type StatusView } from '../kube/write-status.ts';
import type { AnyStatus } from '../site/observe/observe.ts';
import { keyOf, type SiteObject } from '../site/resources.ts';
import type { Repaired, Repairs } from './repairs.ts';

export interface StatusViews {
  view(kind: SiteObject['kind']): StatusView<SiteObject>;
}

export interface WriteStatusOptions {
  readonly client: KubeClient;
  readonly views: StatusViews;
  readonly repairs: Repairs;
  readonly signal: AbortSignal;
}

/** The status of an object, in the form that the limiter of repairs needs. */
export function repairedStatus(object: SiteObject, status: AnyStatus): Repaired {
  const desired = { ...object, status };
  return { of: skupperResources[object.kind] as Resource, object: desired, for: keyOf(object), part: 'status' };
}

/**
 * Writes the status if it differs from the current one.
 * @returns milliseconds until the next attempt if another writer keeps reverting it; 0 when done
 */
export async function writeStatus(
  object: SiteObject,
  status: AnyStatus,
  { client, views, repairs, signal }: WriteStatusOptions,
): Promise<number> {
  const of = skupperResources[object.kind] as Resource<SiteObject>;
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
function digestOf(status: AnyStatus): string {
  const text = JSON.stringify(status, (key, value: unknown) => (key === 'lastTransitionTime' ? undefined : value));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
