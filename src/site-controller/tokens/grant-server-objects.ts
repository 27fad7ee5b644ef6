import { annotation, GRANT_SERVER, GRANT_SERVER_CA, LEADER_LABEL } from '../../api/skupper/cluster-names.ts';
import { certificates, securedAccesses, type Certificate, type SecuredAccess } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredObject, type DesiredState } from '../desired-state.ts';

/**
 * Objects that make the grant server reachable, where tokens are redeemed. They exist once for all sites, in the controller's own
 * namespace.
 */
export function grantServerObjects({ namespace, settings }: NamespaceView): DesiredState {
  const { enabled, autoconfigure, port } = settings.grants;
  if (!enabled || !autoconfigure || namespace !== settings.namespace) return emptyDesiredState;
  const owner = settings.owner === undefined ? {} : { ownerReferences: [settings.owner] };
  const metadata = (name: string): Certificate['metadata'] => ({ name, annotations: { [annotation.controlled]: 'true' }, ...owner });
  const authority: DesiredObject<Certificate> = {
    of: certificates,
    for: `Certificate/${GRANT_SERVER_CA}`,
    object: {
      apiVersion: API_VERSION,
      kind: 'Certificate',
      metadata: metadata(GRANT_SERVER_CA),
      spec: { ca: '', subject: 'SkupperGrantServerCA', signing: true },
    },
  };
  const access: DesiredObject<SecuredAccess> = {
    of: securedAccesses,
    for: `SecuredAccess/${GRANT_SERVER}`,
    object: {
      apiVersion: API_VERSION,
      kind: 'SecuredAccess',
      metadata: metadata(GRANT_SERVER),
      spec: {
        // Only the leader serves grants.
        selector: { 'app.kubernetes.io/name': settings.name, [LEADER_LABEL]: 'true' },
        issuer: GRANT_SERVER_CA,
        ports: [{ name: 'https', port, protocol: 'TCP' }],
      },
    },
  };
  return { ...emptyDesiredState, objects: [authority, access] };
}
