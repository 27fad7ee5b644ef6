import { isDeepStrictEqual } from 'node:util';
import { skupperResources } from '../api/skupper/index.ts';
import type { KubeClient } from '../kube/contract.ts';
import { isNotFound } from '../kube/errors.ts';
import type { AnyStatus } from '../site/observe/observe.ts';
import { nameOf, type SiteObject } from '../site/resources.ts';
import { isRecord } from '../text/is-record.ts';

/** Where written statuses are remembered until the watch brings them (`FreshView`). */
export interface StatusViews {
  view(kind: SiteObject['kind']): { write(intended: SiteObject, send: () => Promise<SiteObject>): Promise<SiteObject> };
}

/** @returns whether it was written: what stands already is left alone */
export async function writeStatus(
  object: SiteObject,
  status: AnyStatus,
  { client, views, signal }: { readonly client: KubeClient; readonly views: StatusViews; readonly signal: AbortSignal },
): Promise<boolean> {
  const wanted: unknown = JSON.parse(JSON.stringify(status));
  if (isDeepStrictEqual(object.status, wanted)) return false;
  const { namespace, uid } = object.metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name: nameOf(object) };
  // With the uid: the status of one that was deleted meanwhile is not another's.
  const patch = { metadata: { uid }, status: difference(object.status, wanted) };
  try {
    const intended = { ...object, status: wanted } as SiteObject;
    await views
      .view(object.kind)
      .write(intended, () =>
        client.patch<SiteObject>(skupperResources[object.kind] as never, key, patch, { type: 'merge', subresource: 'status', signal }),
      );
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** A merge patch (RFC 7386) from one to the other. */
export function difference(from: unknown, to: unknown): unknown {
  if (!isRecord(from) || !isRecord(to)) return to;
  const gone = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
  const changed = Object.entries(to).filter(([key, value]) => !isDeepStrictEqual(from[key], value));
  return Object.fromEntries([...changed.map(([key, value]) => [key, difference(from[key], value)]), ...gone.map((key) => [key, null])]);
}
