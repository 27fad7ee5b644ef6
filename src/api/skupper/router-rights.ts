/** RBAC rules of a site's routers in the site's namespace. The controller grants exactly these. */
import type { PolicyRule } from '../../kube/objects.ts';
import { NETWORK_STATUS, RENEWALS, ROUTER, SITE_LEADER } from './cluster-names.ts';
import { GROUP } from './names.ts';

/**
 * @param read names of Secrets that may be read
 * @param renew names of Secrets that may also be patched, with certificates renewed by the peer; none is created or deleted
 */
export function routerRights(read: Iterable<string>, renew: Iterable<string>): readonly PolicyRule[] {
  return [
    {
      apiGroups: [GROUP],
      resources: ['sites', 'listeners', 'multikeylisteners', 'connectors', 'links', 'routeraccesses', 'attachedconnectorbindings'],
      verbs: READ,
    },
    {
      apiGroups: [GROUP],
      resources: ['listeners/status', 'multikeylisteners/status', 'connectors/status', 'links/status'],
      verbs: ['patch'],
    },
    { apiGroups: [''], resources: ['services', 'pods'], verbs: READ },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [ROUTER], verbs: READ },
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [NETWORK_STATUS, RENEWALS], verbs: [...READ, 'patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [SITE_LEADER], verbs: ['get', 'patch'] },
    // RBAC cannot restrict `create` by name. The first router of a site creates its Lease.
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    // The Role lists the Secrets that may be read, and the watch shows when that list changes.
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], resourceNames: [ROUTER], verbs: READ },
    ...ofSecrets([...read], READ),
    ...ofSecrets([...renew], ['patch']),
  ];
}

/** Returns no rule without names, because a rule without `resourceNames` covers all Secrets. */
function ofSecrets(names: readonly string[], verbs: readonly string[]): readonly PolicyRule[] {
  return names.length === 0 ? [] : [{ apiGroups: [''], resources: ['secrets'], resourceNames: names.toSorted(), verbs }];
}

const READ = ['get', 'list', 'watch'];
