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
  /** For how long a certificate is issued; left out: the default. */
  readonly days?: number;
}

/** Keeps the links up to date that somebody has asked for, so that another site can use them without a token. Nobody gets one unasked. */
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

/** Put on record before it is handed out, so that it can be revoked by its name; then the next one is made. */
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
