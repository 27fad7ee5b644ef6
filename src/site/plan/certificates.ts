/** Which TLS bundles the site is to make for itself: pure. */
import type { Site } from '../../api/skupper/index.ts';
import { certificateHosts, type Reach } from '../site-endpoints.ts';
import { listAccesses } from './access.ts';
import { keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { asCommonName } from '../../text/names.ts';

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
    /** What it is marked for, as the resource says it; undefined where it says nothing, and none is set. */
    readonly purpose?: string;
  };
}

/** The site's own authority, as resources may name it; the second is how Skupper's manifests call theirs. */
export const SITE_ISSUERS: ReadonlySet<string> = new Set(['earshot-site-ca', 'skupper-site-ca']);

/** `settings` of a Certificate: `link`, or `application`, which it is unless an access shows it. */
export const PURPOSE = 'purpose';

/** Authorities first, since others may be signed by them. */
export function planCertificates(resources: SiteResources, site: Site, reach: Reach): readonly WantedBundle[] {
  const wanted = new Map<string, WantedBundle>();
  const { accesses } = listAccesses(resources, site);
  const shown = new Set(accesses.map(({ bundle }) => bundle));
  for (const certificate of resources.Certificate) {
    const { ca, subject, hosts, client, server, signing, settings } = certificate.spec;
    const name = nameOf(certificate);
    // An authority signs for what it likes. What an access shows is a link's.
    const purpose = signing === true ? {} : { purpose: settings?.[PURPOSE] ?? (shown.has(name) ? 'link' : 'application') };
    wanted.set(name, {
      name,
      resource: keyOf(certificate),
      issuer: ca === '' ? { kind: 'self' } : issuerOf(ca),
      order: {
        subject: asCommonName(subject),
        hosts: hosts ?? [],
        client: client ?? false,
        server: server ?? false,
        signing: signing ?? false,
        ...purpose,
      },
    });
  }
  for (const access of accesses) {
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
