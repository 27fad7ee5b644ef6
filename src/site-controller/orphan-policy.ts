import { isDeepStrictEqual } from 'node:util';
import type { Deployment, KubeObject, RoleBinding } from '../kube/objects.ts';

/**
 * How to handle an existing object where another is desired. `kept`: update it. `awaited`: it is being deleted, and its deletion triggers a
 * reconcile. `replaced`: delete it first.
 */
export type OrphanPolicy = 'kept' | 'awaited' | 'replaced';

export function orphanPolicy(current: KubeObject, desired: KubeObject): OrphanPolicy {
  if (current.metadata.deletionTimestamp !== undefined) return 'awaited';
  return isOfAnother(current, desired) || differsForGood(current, desired) ? 'replaced' : 'kept';
}

/**
 * The garbage collector may delete an object of a former Site (or RouterAccess, and so on) at any moment. Adopting it would keep or lose it
 * by chance, together with the former Site's content, such as a CA or an account. Objects without such an owner are updated, so those of an
 * earlier controller keep their addresses.
 */
function isOfAnother(
  { metadata: { ownerReferences: current = [] } }: KubeObject,
  { metadata: { ownerReferences: desired = [] } }: KubeObject,
): boolean {
  const alike = current.filter(({ kind, apiVersion }) =>
    desired.some((owner) => owner.kind === kind && groupOf(owner.apiVersion) === groupOf(apiVersion)),
  );
  return alike.length > 0 && !alike.some(({ uid }) => desired.some((owner) => owner.uid === uid));
}

function groupOf(apiVersion: string): string {
  return apiVersion.split('/')[0] ?? '';
}

/** The API server treats both fields as immutable. Controllers of one release also selected router pods by their group. */
function differsForGood(current: KubeObject, desired: KubeObject): boolean {
  switch (desired.kind) {
    case 'Deployment':
      return !isDeepStrictEqual((current as Deployment).spec?.selector?.matchLabels, (desired as Deployment).spec?.selector?.matchLabels);
    case 'RoleBinding':
      return !isDeepStrictEqual((current as RoleBinding).roleRef, (desired as RoleBinding).roleRef);
    default:
      return false;
  }
}
