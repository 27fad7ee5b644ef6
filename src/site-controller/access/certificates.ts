/** Certificates of SecuredAccesses. The site's certificate authorities issue a Secret for each. */
import { limitTable } from '../../limits/table.ts';
import { annotation } from '../../api/skupper/cluster-names.ts';
import type { Certificate, Endpoint, SecuredAccess } from '../../api/skupper/index.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { certificateNamed, desiredCertificate, type DesiredCertificate } from '../trust/certificate-object.ts';
import type { DesiredState } from '../desired-state.ts';

/** A Certificate has at most 256 hosts, and two routers may share one. */
const MOST_HOSTS = limitTable.certificateHosts.value;
/** Maximum number of former hosts in a certificate. */
const MOST_FORMER = 16;

/** Several SecuredAccesses may share one certificate, as the routers of a site do. It contains the hosts of all of them. */
export function certificatesOf(
  accesses: readonly { readonly access: SecuredAccess; readonly endpoints: readonly Endpoint[] }[],
  view: NamespaceView,
): readonly DesiredState[] {
  const issued = Map.groupBy(
    accesses.filter(({ access: { spec } }) => isGiven(spec.issuer)),
    ({ access: { spec, metadata } }) => (isGiven(spec.certificate) ? spec.certificate : (metadata.name ?? '')),
  );
  // Only owners of a Certificate have hosts in one. There may be thousands of other resources.
  const owning = new Set(
    [...view.resources.Certificate, ...view.unreadable].flatMap(({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid)),
  );
  const unreadable = view.unreadable.filter(({ kind, metadata: { uid = '' } }) => kind === 'SecuredAccess' && owning.has(uid));
  return [...issued].flatMap(([name, group]) => {
    const [first] = group;
    if (first === undefined) return [];
    const existing = certificateNamed(view, name);
    const owners = [
      ...group.map(({ access, endpoints }) => ({ owner: access, hosts: hostsOf(access, endpoints, view.namespace, existing) })),
      ...unreadableOwners(unreadable, existing),
    ];
    const { access } = first;
    const [subject = nameOf(access)] = owners.map(({ owner }) => owner.metadata.name ?? '').sort();
    return [desiredCertificate(view, { name, ca: access.spec.issuer ?? '', subject, server: true, owners, for: keyOf(access) })];
  });
}

/** Unreadable SecuredAccesses that share the certificate: their hosts stay in it. */
function unreadableOwners(
  unreadable: NamespaceView['unreadable'],
  existing: Pick<Certificate, 'metadata'> | undefined,
): DesiredCertificate['owners'] {
  const { annotations = {} } = existing?.metadata ?? {};
  return unreadable.flatMap((owner) => {
    const hosts = annotations[`${annotation.hosts}-${owner.metadata.uid}`];
    return hosts === undefined ? [] : [{ owner, hosts: hosts.split(',').filter((host) => host !== '') }];
  });
}

/**
 * Keeps former hosts: other sites dial them until they receive the new ones. They may still lead here: when a router moves to another node,
 * the ports of all nodes still reach it. A certificate for fewer hosts gains nothing.
 */
function hostsOf(
  access: SecuredAccess,
  endpoints: readonly Endpoint[],
  namespace: string,
  existing: Pick<Certificate, 'metadata'> | undefined,
): readonly string[] {
  const name = nameOf(access);
  // Exactly the names that an earlier controller used, so its certificate stays in use.
  const own = [name, `${name}.${namespace}`];
  const before = existing?.metadata.annotations?.[`${annotation.hosts}-${access.metadata.uid}`]?.split(',') ?? [];
  const now = new Set([...own, ...endpoints.flatMap(({ host }) => host ?? [])]);
  const former = before.filter((host) => host !== '' && !now.has(host)).slice(0, MOST_FORMER);
  return [...now, ...former].slice(0, MOST_HOSTS);
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
