/** TLS bundles that the site must issue for itself (pure). */
import type { Site } from '../../api/skupper/index.ts';
import { certificateHosts, type Reach } from '../site-endpoints.ts';
import { listAccesses } from './access.ts';
import { keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { asCommonName } from '../../text/names.ts';

export interface WantedBundle {
  readonly name: string;
  readonly resource: ResourceKey;
  /** `default`: the site's default CA. `self`: self-signed. */
  readonly issuer: { readonly kind: 'default' } | { readonly kind: 'named'; readonly name: string } | { readonly kind: 'self' };
  readonly order: {
    readonly subject: string;
    readonly hosts: readonly string[];
    readonly client: boolean;
    readonly server: boolean;
    readonly signing: boolean;
    /** Purpose in the certificate's mark, as the resource states it; undefined if it states none, and then no mark is set. */
    readonly purpose?: string;
  };
}

/** Names of the site's own CA in resources; the second is the one in Skupper's manifests. */
export const SITE_ISSUERS: ReadonlySet<string> = new Set(['earshot-site-ca', 'skupper-site-ca']);

/** Key in `settings` of a Certificate: `link` or `application`. The default is `application`, unless an access presents the certificate. */
export const PURPOSE = 'purpose';

/** CAs come first, since they may sign the others. */
export function planCertificates(resources: SiteResources, site: Site, reach: Reach): readonly WantedBundle[] {
  const wanted = new Map<string, WantedBundle>();
  const { accesses } = listAccesses(resources, site);
  const shown = new Set(accesses.map(({ bundle }) => bundle));
  for (const certificate of resources.Certificate) {
    const { ca, subject, hosts, client, server, signing, settings } = certificate.spec;
    const name = nameOf(certificate);
    // A CA signs for any purpose. A certificate that an access presents is a link's.
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
    // Two accesses may share a bundle. Then its certificate has the names of both.
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
