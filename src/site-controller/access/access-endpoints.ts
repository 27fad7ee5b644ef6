import type { Endpoint } from '../../api/skupper/index.ts';
import { keyOf, type ResourceKey } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { listCreatedAccess } from './created-access.ts';

/** Endpoints of each SecuredAccess and RouterAccess, as far as they are known now. */
export function accessEndpoints(view: NamespaceView): ReadonlyMap<ResourceKey, readonly Endpoint[]> {
  const { asked, created } = listCreatedAccess(view);
  const endpoints = new Map<ResourceKey, readonly Endpoint[]>();
  for (const { access, endpoints: own } of created) endpoints.set(keyOf(access), own);
  for (const { item, by, group } of asked) {
    const own = (endpoints.get(keyOf(item.object)) ?? []).map((each) => ({ ...each, group }));
    endpoints.set(by, [...(endpoints.get(by) ?? []), ...own]);
  }
  return endpoints;
}
