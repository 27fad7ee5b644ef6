import type { Endpoint } from '../../api/skupper/index.ts';
import { annotation, label, ROUTER } from '../../api/skupper/cluster-names.ts';
import type { ResourceKey } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';

/** Where each RouterAccess can be reached, by what its SecuredAccesses have come to: one for each group of routers. */
export function accessEndpoints({ resources }: NamespaceView): ReadonlyMap<ResourceKey, readonly Endpoint[]> {
  const found = new Map<ResourceKey, Endpoint[]>();
  for (const { metadata, spec, status } of resources.SecuredAccess) {
    const routerAccess = metadata.annotations?.[annotation.routerAccess];
    if (routerAccess === undefined) continue;
    const group = spec.selector?.[label.group] ?? ROUTER;
    const endpoints = (status?.endpoints ?? []).map((endpoint) => ({ ...endpoint, group }));
    found.getOrInsertComputed(`RouterAccess/${routerAccess}`, () => []).push(...endpoints);
  }
  return found;
}
