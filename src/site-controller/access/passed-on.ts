import { annotation } from '../../api/skupper/cluster-names.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../../site/resources.ts';

/**
 * Repeats the problems of a SecuredAccess in the RouterAccess that requested it. If `linkAccess` of the Site created that one, the Site
 * repeats them too: users look at the resource that they wrote.
 */
export function passedOn(problems: readonly ResourceProblem[], { SecuredAccess, RouterAccess }: SiteResources): readonly ResourceProblem[] {
  const writtenBy = new Map<ResourceKey, readonly ResourceKey[]>();
  for (const { metadata } of RouterAccess) {
    const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Site');
    writtenBy.set(
      `RouterAccess/${metadata.name}`,
      owners.map((owner): ResourceKey => `Site/${owner.name}`),
    );
  }
  for (const access of SecuredAccess) {
    const asker: ResourceKey = `RouterAccess/${access.metadata.annotations?.[annotation.routerAccess]}`;
    const above = writtenBy.get(asker);
    if (above !== undefined) writtenBy.set(keyOf(access), [asker, ...above]);
  }
  const found = problems.flatMap(({ resource, severity, code, message }) =>
    (writtenBy.get(resource) ?? []).map((by): ResourceProblem => ({ resource: by, severity, code, message })),
  );
  // The routers of a site share one problem; report it once.
  return [...new Map(found.map((problem) => [JSON.stringify(problem), problem])).values()];
}
