import type { Site } from '../../api/skupper/index.ts';
import type { ConfigMap } from '../../kube/objects.ts';

/**
 * Which of a namespace's Sites it is: the one that it was before, which the ConfigMap of its router names as its owner; else the first by name.
 * @param sites by name
 */
export function activeSite(sites: readonly Site[], routerConfig: ConfigMap | undefined): Site | undefined {
  const before = routerConfig?.metadata.ownerReferences?.find(({ kind }) => kind === 'Site')?.uid;
  const alive = sites.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return alive.find(({ metadata }) => metadata.uid === before) ?? alive[0];
}
