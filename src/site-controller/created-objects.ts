/**
 * Converts objects that were created instead of applied; create costs the API server a quarter of the work. The API server records a create
 * as `Update`, and a later apply never removes those fields, even by the same manager. So the first apply converts them, as `kubectl apply
 * --server-side` does with objects that were applied client-side.
 */
import { annotation, FIELD_MANAGER } from '../api/skupper/cluster-names.ts';
import type { KubeClient } from '../kube/contract.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';

/** Prefix of the digest of an object that was created and not applied since. */
export const CREATED_MARK = '+';

/** Parses the mark of the last write: its digest, and whether the object was created and not applied since. */
export function markOf({
  metadata: { annotations = {} },
}: KubeObject): { readonly how: typeof CREATED_MARK | ''; readonly digest: string } | undefined {
  const mark = annotations[annotation.applied];
  if (mark === undefined) return undefined;
  return mark.startsWith(CREATED_MARK) ? { how: CREATED_MARK, digest: mark.slice(CREATED_MARK.length) } : { how: '', digest: mark };
}

export function isCreatedBySite(object: KubeObject): boolean {
  return markOf(object)?.how === CREATED_MARK;
}

/** @returns the object after its fields were converted */
export async function heldAsApplied(of: Resource, { metadata }: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  const { namespace, name = '', uid, resourceVersion } = metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name };
  // The cache drops managedFields, so read them. If the object has another version by now, the patch is refused.
  const { managedFields = [] } = (await client.get(of, key, { signal })).metadata;
  const held = managedFields.map((each) => (isOurs(each) ? { ...each, operation: 'Apply' } : each));
  return client.patch(of, key, { metadata: { uid, resourceVersion, managedFields: held } }, { type: 'merge', signal });
}

function isOurs(entry: unknown): entry is object {
  const { manager, operation, subresource } = entry as Readonly<Record<string, unknown>>;
  return manager === FIELD_MANAGER && operation === 'Update' && subresource === undefined;
}
