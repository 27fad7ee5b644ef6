/** The Certificates of SecuredAccesses, which the site's authorities turn into Secrets. */
import { annotation } from '../../api/skupper/cluster-names.ts';
import type { Certificate, Endpoint, SecuredAccess } from '../../api/skupper/index.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { certificateNamed, certificateWish, type WantedCertificate } from '../trust/certificate-object.ts';
import type { DesiredState } from '../desired-state.ts';

/** A Certificate has 256 at most, and two routers may share one. */
const MOST_HOSTS = 128;
/** Of those by which it was reached before. */
const MOST_FORMER = 16;

/** Several may show one certificate, as the routers of a site do: it has the hosts of all. */
export function certificatesOf(
  accesses: readonly { readonly access: SecuredAccess; readonly endpoints: readonly Endpoint[] }[],
  view: NamespaceView,
): readonly DesiredState[] {
  const issued = Map.groupBy(
    accesses.filter(({ access: { spec } }) => isGiven(spec.issuer)),
    ({ access: { spec, metadata } }) => (isGiven(spec.certificate) ? spec.certificate : (metadata.name ?? '')),
  );
  // Only those that own a Certificate can be in one: there may be thousands of others.
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
    return [certificateWish(view, { name, ca: access.spec.issuer ?? '', subject, server: true, owners, for: keyOf(access) })];
  });
}

/** SecuredAccesses that share the certificate and cannot be read now: their hosts stay in it. */
function unreadableOwners(
  unreadable: NamespaceView['unreadable'],
  existing: Pick<Certificate, 'metadata'> | undefined,
): WantedCertificate['owners'] {
  const { annotations = {} } = existing?.metadata ?? {};
  return unreadable.flatMap((owner) => {
    const hosts = annotations[`${annotation.hosts}-${owner.metadata.uid}`];
    return hosts === undefined ? [] : [{ owner, hosts: hosts.split(',').filter((host) => host !== '') }];
  });
}

/**
 * Those by which it was reached last stay in it: other sites dial them until they hear of the new ones, and they may well lead here still, as
 * any node's port does when a router has moved to another. Nothing is gained by a certificate that is good for less.
 */
function hostsOf(
  access: SecuredAccess,
  endpoints: readonly Endpoint[],
  namespace: string,
  existing: Pick<Certificate, 'metadata'> | undefined,
): readonly string[] {
  const name = nameOf(access);
  // No more than an earlier controller gave: its certificate goes on.
  const own = [name, `${name}.${namespace}`];
  const before = existing?.metadata.annotations?.[`${annotation.hosts}-${access.metadata.uid}`]?.split(',') ?? [];
  const now = new Set([...own, ...endpoints.flatMap(({ host }) => host ?? [])]);
  const former = before.filter((host) => host !== '' && !now.has(host)).slice(0, MOST_FORMER);
  return [...now, ...former].slice(0, MOST_HOSTS);
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
