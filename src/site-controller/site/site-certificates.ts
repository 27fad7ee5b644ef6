import type { Site } from '../../api/skupper/index.ts';
import { LOCAL_CA, LOCAL_SERVER, ROUTER_LOCAL, SITE_CA } from '../../api/skupper/cluster-names.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { desiredCertificate, type DesiredCertificate } from '../trust/certificate-object.ts';
import { mergeDesiredStates, type DesiredState } from '../desired-state.ts';

/** CAs of a site, and the certificate that its routers use between each other. */
export function siteCertificates(view: NamespaceView, site: Site): DesiredState {
  const name = nameOf(site);
  const service = `${ROUTER_LOCAL}.${view.namespace}`;
  const local = [ROUTER_LOCAL, service, `${service}.svc.cluster.local`];
  const desired = (
    hosts: readonly string[],
    what: Pick<DesiredCertificate, 'name' | 'ca' | 'subject' | 'signing' | 'server'>,
  ): DesiredState => desiredCertificate(view, { ...what, owners: [{ owner: site, hosts }], for: keyOf(site) });
  return mergeDesiredStates([
    desired([], { name: SITE_CA, ca: '', subject: `${name} site CA`, signing: true }),
    desired([], { name: LOCAL_CA, ca: '', subject: `${name} local CA`, signing: true }),
    desired(local, { name: LOCAL_SERVER, ca: LOCAL_CA, subject: ROUTER_LOCAL, server: true }),
  ]);
}
