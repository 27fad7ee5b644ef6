import { annotation } from '../../api/skupper/cluster-names.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../../site/resources.ts';

/**
 * What is wrong with a SecuredAccess is told by the RouterAccess that asked for it as well, and by the Site where that is made for
 * `linkAccess`: people look at what they wrote.
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
  // The routers of a site have one fault in common.
  return [...new Map(found.map((problem) => [JSON.stringify(problem), problem])).values()];
}
