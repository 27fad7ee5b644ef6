import type { Site } from '../../api/skupper/index.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { KubeObject } from '../../kube/objects.ts';

/**
 * Chooses the active Site of a namespace: the one that was active before, else the first by name.
 * @param sites sorted by name
 * @param made objects that only the active Site owns; several, since a user may have deleted any of them
 */
export function activeSite(sites: readonly Site[], created: readonly (KubeObject | undefined)[]): Site | undefined {
  const alive = sites.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const before = created
    .flatMap((object) => object?.metadata.ownerReferences ?? [])
    .filter(({ apiVersion }) => apiVersion.startsWith(`${GROUP}/`));
  const [owner] = before.flatMap(({ kind, uid }) => alive.find(({ metadata }) => kind === 'Site' && metadata.uid === uid) ?? []);
  return owner ?? alive[0];
}
