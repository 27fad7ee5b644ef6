import { isDeepStrictEqual } from 'node:util';
import type { Deployment, KubeObject, RoleBinding } from '../kube/objects.ts';

/**
 * What becomes of an object that stands where another is wanted. `kept`: it is brought in line. `awaited`: it is going, and its end brings
 * the next look. `replaced`: it has to go first.
 */
export type OrphanPolicy = 'kept' | 'awaited' | 'replaced';

export function orphanPolicy(current: KubeObject, wanted: KubeObject): OrphanPolicy {
  if (current.metadata.deletionTimestamp !== undefined) return 'awaited';
  return isOfAnother(current, wanted) || differsForGood(current, wanted) ? 'replaced' : 'kept';
}

/**
 * What is owned by a Site (or a RouterAccess, and so on) of before goes with that: the garbage collector takes it at any moment. Taken over,
 * it would stay or go by chance, and with it what it was for that Site: an authority, an account. What is of no such owner is
 * brought in line, so that the objects of an earlier controller keep their addresses.
 */
function isOfAnother(
  { metadata: { ownerReferences: current = [] } }: KubeObject,
  { metadata: { ownerReferences: wanted = [] } }: KubeObject,
): boolean {
  const alike = current.filter(({ kind, apiVersion }) =>
    wanted.some((owner) => owner.kind === kind && groupOf(owner.apiVersion) === groupOf(apiVersion)),
  );
  return alike.length > 0 && !alike.some(({ uid }) => wanted.some((owner) => owner.uid === uid));
}

function groupOf(apiVersion: string): string {
  return apiVersion.split('/')[0] ?? '';
}

/** The API server changes neither. Controllers of one release selected routers' pods by their group as well. */
function differsForGood(current: KubeObject, wanted: KubeObject): boolean {
  switch (wanted.kind) {
    case 'Deployment':
      return !isDeepStrictEqual((current as Deployment).spec?.selector?.matchLabels, (wanted as Deployment).spec?.selector?.matchLabels);
    case 'RoleBinding':
      return !isDeepStrictEqual((current as RoleBinding).roleRef, (wanted as RoleBinding).roleRef);
    default:
      return false;
  }
}
