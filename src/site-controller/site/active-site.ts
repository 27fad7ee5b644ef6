import type { Site } from '../../api/skupper/index.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { KubeObject } from '../../kube/objects.ts';

/**
 * Which of a namespace's Sites it is: the one that it was before, else the first by name.
 * @param sites by name
 * @param made what is made for the active one alone, and names it as its owner: several, since any may have been deleted by hand
 */
export function activeSite(sites: readonly Site[], made: readonly (KubeObject | undefined)[]): Site | undefined {
  const alive = sites.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const before = made
    .flatMap((object) => object?.metadata.ownerReferences ?? [])
    .filter(({ apiVersion }) => apiVersion.startsWith(`${GROUP}/`));
  const [owner] = before.flatMap(({ kind, uid }) => alive.find(({ metadata }) => kind === 'Site' && metadata.uid === uid) ?? []);
  return owner ?? alive[0];
}
