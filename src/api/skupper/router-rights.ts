/** What the account of a site's routers may do in the namespace of its site: the controller grants it, and the routers need no more. */
import type { PolicyRule } from '../../kube/objects.ts';
import { NETWORK_STATUS, RENEWALS, ROUTER, SITE_LEADER } from './cluster-names.ts';
import { GROUP } from './names.ts';

/**
 * @param read the names of Secrets that may be read
 * @param renew of those that may be written as well: what a link's other end has renewed. None is ever made or taken away
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
    // A name cannot be asked for where something is made: the first router of a site makes its Lease.
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    // It says which Secrets may be read, and when that changes.
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], resourceNames: [ROUTER], verbs: READ },
    ...ofSecrets([...read], READ),
    ...ofSecrets([...renew], ['patch']),
  ];
}

/** A rule without names would be for all of them. */
function ofSecrets(names: readonly string[], verbs: readonly string[]): readonly PolicyRule[] {
  return names.length === 0 ? [] : [{ apiGroups: [''], resources: ['secrets'], resourceNames: names.toSorted(), verbs }];
}

const READ = ['get', 'list', 'watch'];
