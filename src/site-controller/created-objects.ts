/**
 * Objects that were created, and not applied: that is a quarter of the work for the API server. But it takes what is created for an `Update`,
 * whose fields no later apply takes away, even by the same manager; so before the first apply they become those of one.
 * `kubectl apply --server-side` does the same with what was applied without it.
 */
import { annotation, FIELD_MANAGER } from '../api/skupper/cluster-names.ts';
import type { KubeClient } from '../kube/contract.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';

/** Before the hash of one that was created, and not applied since. */
export const CREATED_MARK = '+';

/** What an object bears of its last write: its digest, and whether it was created and not applied since. */
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

/** @returns it as it is then */
export async function heldAsApplied(of: Resource, { metadata }: KubeObject, client: KubeClient, signal: AbortSignal): Promise<KubeObject> {
  const { namespace, name = '', uid, resourceVersion } = metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name };
  // What is kept of an object is without its managers. Where it is another version by now, the patch is refused.
  const { managedFields = [] } = (await client.get(of, key, { signal })).metadata;
  const held = managedFields.map((each) => (isOurs(each) ? { ...each, operation: 'Apply' } : each));
  return client.patch(of, key, { metadata: { uid, resourceVersion, managedFields: held } }, { type: 'merge', signal });
}

function isOurs(entry: unknown): entry is object {
  const { manager, operation, subresource } = entry as Readonly<Record<string, unknown>>;
  return manager === FIELD_MANAGER && operation === 'Update' && subresource === undefined;
}
