/** What the account of a site's router pods may do: nothing that changes what somebody wished for. */
import { NETWORK_STATUS, RENEWALS, ROUTER, SECOND_ROUTER, SITE_LEADER } from '../../api/skupper/cluster-names.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { PolicyRule } from '../../kube/objects.ts';

const READ = ['get', 'list', 'watch'] as const;

/**
 * But for Secrets. The chart gives the controller all of these and those of `secretRights`: nobody can give away what he has not
 * (RBAC's escalation check).
 */
export const routerRights: readonly PolicyRule[] = [
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
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [ROUTER, SECOND_ROUTER, NETWORK_STATUS, RENEWALS], verbs: READ },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [NETWORK_STATUS, RENEWALS], verbs: ['patch'] },
  // What does not exist has no name that a rule could give.
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [SITE_LEADER], verbs: ['get', 'update', 'patch'] },
];

/** Each by its name: a rule without names would be for all of them. */
export function secretRights({
  read,
  renew,
}: {
  readonly read: readonly string[];
  readonly renew: readonly string[];
}): readonly PolicyRule[] {
  const rule = (resourceNames: readonly string[], verbs: readonly string[]): readonly PolicyRule[] =>
    resourceNames.length === 0 ? [] : [{ apiGroups: [''], resources: ['secrets'], resourceNames, verbs }];
  return [...rule(read, READ), ...rule(renew, ['patch'])];
}
