/** Which TLS bundles the site is to make for itself: pure. */
import type { Site } from '../../api/skupper/index.ts';
import { certificateHosts, type Reach } from '../reach.ts';
import { listAccesses } from './access.ts';
import { keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';

export interface WantedBundle {
  readonly name: string;
  readonly resource: ResourceKey;
  /** Undefined: the site's default. `self`: the certificate signs itself. */
  readonly issuer: { readonly kind: 'default' } | { readonly kind: 'named'; readonly name: string } | { readonly kind: 'self' };
  readonly order: {
    readonly subject: string;
    readonly hosts: readonly string[];
    readonly client: boolean;
    readonly server: boolean;
    readonly signing: boolean;
  };
}

/** The site's own authority, as resources may name it; the second is how Skupper's manifests call theirs. */
export const SITE_ISSUERS: ReadonlySet<string> = new Set(['earshot-site-ca', 'skupper-site-ca']);

/** Authorities first, since others may be signed by them. */
export function planCertificates(resources: SiteResources, site: Site, reach: Reach): readonly WantedBundle[] {
  const wanted = new Map<string, WantedBundle>();
  for (const certificate of resources.Certificate) {
    const { ca, subject, hosts, client, server, signing } = certificate.spec;
    const name = nameOf(certificate);
    wanted.set(name, {
      name,
      resource: keyOf(certificate),
      issuer: ca === '' ? { kind: 'self' } : issuerOf(ca),
      order: { subject, hosts: hosts ?? [], client: client ?? false, server: server ?? false, signing: signing ?? false },
    });
  }
  for (const access of listAccesses(resources, site).accesses) {
    // Two accesses may share a bundle; then its certificate has the names of both.
    if (!access.issued) continue;
    const before = wanted.get(access.bundle);
    if (before?.resource.startsWith('Certificate/') === true) continue;
    wanted.set(access.bundle, {
      name: access.bundle,
      resource: access.resource,
      issuer: access.issuer === undefined ? { kind: 'default' } : issuerOf(access.issuer),
      order: {
        subject: nameOf(site),
        hosts: [...new Set([...(before?.order.hosts ?? []), ...certificateHosts(access, reach)])],
        client: false,
        server: true,
        signing: false,
      },
    });
  }
  return [...wanted.values()].sort((one, other) => Number(other.order.signing) - Number(one.order.signing));
}

function issuerOf(name: string): WantedBundle['issuer'] {
  return SITE_ISSUERS.has(name) ? { kind: 'default' } : { kind: 'named', name };
}
