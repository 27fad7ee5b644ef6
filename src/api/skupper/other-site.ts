import type { KubeObject } from '../../kube/objects.ts';

/**
 * Whether an object is of a Site other than this one: that may be gone, and the object goes with it a moment later. What no Site owns is of none:
 * somebody has put it back from a copy.
 */
export function isOfAnotherSite({ metadata: { ownerReferences = [] } }: KubeObject, uid: string | undefined): boolean {
  const sites = ownerReferences.filter(({ kind }) => kind === 'Site');
  return sites.length > 0 && !sites.some((site) => site.uid === uid);
}
