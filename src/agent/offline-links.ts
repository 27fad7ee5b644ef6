import type { Endpoint, Site } from '../api/skupper/index.ts';
import type { Access } from '../site/plan/access.ts';
import type { IssuedBundle, TlsBundle } from '../identity/tls-bundle.ts';
import type { Ledger } from '../trust/stores.ts';
import { issueBundle } from '../trust/issue.ts';
import { revocationsOf } from '../trust/revocation.ts';
import { certificateFacts } from '../x509/facts.ts';
import type { Authorities } from './authorities.ts';
import { isRenewalDue } from '../trust/renewal.ts';
import type { OfflineLinks } from './ports.ts';

export interface OfflineLinkSource {
  readonly access: Access;
  readonly endpoints: readonly Endpoint[];
}

interface OfflineLinkOptions {
  readonly links: OfflineLinks;
  readonly ledger: Ledger;
  readonly authorities: Authorities;
  readonly site: Site;
  readonly now: number;
  /** Lifetime of a certificate in days; the default if omitted. */
  readonly days?: number;
}

/**
 * Updates the link files that a user has requested, with which another site can link without a token. Never creates one without a request.
 */
export async function keepOfflineLinks(sources: readonly OfflineLinkSource[], options: OfflineLinkOptions): Promise<void> {
  for (const { access, endpoints } of sources) {
    const name = `link-${access.name}`;
    for (const [host, own] of Map.groupBy(endpoints, (endpoint) => endpoint.host ?? '')) {
      const before = await options.links.find(name, host);
      if (before === undefined) continue;
      await options.links.put({ name, host, endpoints: own, bundle: await bundleFor(name, before, access.issuer, options) });
    }
  }
}

/**
 * Records each certificate before handing it out, so that it can be revoked by the link's name. The next reconcile then issues another one.
 */
async function bundleFor(
  name: string,
  { cert, key, ca }: TlsBundle,
  issuer: string | undefined,
  options: OfflineLinkOptions,
): Promise<IssuedBundle> {
  const { ledger, authorities, site, now, days } = options;
  if (cert !== undefined && key !== undefined && ca !== undefined) {
    const facts = certificateFacts(cert, `the link ${name}`);
    const { serials } = revocationsOf(await ledger.revoked());
    if (facts.notBefore <= now && !isRenewalDue(facts, now) && !serials.includes(facts.serial)) return { name, cert, key, ca };
  }
  const authority = await authorities.find(issuer, site);
  const made = issueBundle(authority, name, { subject: name, client: true, purpose: 'link', ...(days === undefined ? {} : { days }) });
  await ledger.record({ siteName: name, serial: made.serial, notAfter: certificateFacts(made.cert, name).notAfter });
  return made;
}
