import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from './contract.ts';
import { isNotFound } from './errors.ts';
import { difference } from './merge-patch.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';

type WithStatus = KubeObject & { readonly status?: unknown };

/** View that caches written statuses until the watch delivers them (`WriteThroughCache`). */
export interface StatusView<T extends KubeObject> {
  write(intended: T, send: () => Promise<T>): Promise<T>;
}

/**
 * Writes the status if it differs.
 * @returns whether it was written
 */
export async function writeStatus<T extends WithStatus>(
  of: Resource<T>,
  object: T,
  status: unknown,
  { client, view, signal }: { readonly client: Pick<KubeClient, 'patch'>; readonly view: StatusView<T>; readonly signal: AbortSignal },
): Promise<boolean> {
  const desired: unknown = JSON.parse(JSON.stringify(status));
  if (isDeepStrictEqual(object.status, desired)) return false;
  const { namespace, uid, name = '' } = object.metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name };
  // The UID protects the status of another object if this one was deleted meanwhile.
  const patch = { metadata: { uid }, status: difference(object.status, desired) };
  try {
    await view.write({ ...object, status: desired }, () => client.patch(of, key, patch, { type: 'merge', subresource: 'status', signal }));
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
