import type { Endpoint, Site } from '../api/skupper/index.ts';
import type { Access } from '../site/plan/access.ts';
import type { IssuedBundle } from '../identity/tls-bundle.ts';
import type { Bundles, Ledger } from '../trust/stores.ts';
import { issueBundle } from '../trust/issue.ts';
import { revocationsOf } from '../trust/revocation.ts';
import { certificateFacts } from '../x509/facts.ts';
import type { Authorities } from './authorities.ts';
import { isRenewalDue } from '../trust/renewal.ts';
import type { OfflineLink } from './ports.ts';

export interface OfflineLinkSource {
  readonly access: Access;
  readonly endpoints: readonly Endpoint[];
}

interface OfflineLinkOptions {
  readonly bundles: Bundles;
  readonly ledger: Ledger;
  readonly authorities: Authorities;
  readonly site: Site;
  readonly now: number;
  /** For how long a certificate is issued; left out: the default. */
  readonly days?: number;
}

/** Links that other sites can use without a token: one certificate for each access, a link for each host. */
export async function makeOfflineLinks(
  sources: readonly OfflineLinkSource[],
  options: OfflineLinkOptions,
): Promise<readonly OfflineLink[]> {
  const links: OfflineLink[] = [];
  for (const { access, endpoints } of sources) {
    if (endpoints.length === 0) continue;
    const name = `link-${access.name}`;
    const bundle = await bundleFor(name, access.issuer, options);
    for (const [host, own] of Map.groupBy(endpoints, (endpoint) => endpoint.host ?? '')) {
      links.push({ name, host, endpoints: own, bundle });
    }
  }
  return links;
}

/** Put on record before it is handed out, so that it can be revoked by its name; then the next one is made. */
async function bundleFor(name: string, issuer: string | undefined, options: OfflineLinkOptions): Promise<IssuedBundle> {
  const { bundles, ledger, authorities, site, now, days } = options;
  const { cert, key, ca } = (await bundles.get(name)) ?? {};
  const authority = await authorities.find(issuer, site);
  if (cert !== undefined && key !== undefined && ca !== undefined) {
    const facts = certificateFacts(cert, `${bundles.locationOf(name)}/tls.crt`);
    const { serials } = revocationsOf(await ledger.revoked());
    if (facts.notBefore <= now && !isRenewalDue(facts, now) && !serials.includes(facts.serial)) return { name, cert, key, ca };
  }
  const made = issueBundle(authority, name, { subject: name, client: true, purpose: 'link', ...(days === undefined ? {} : { days }) });
  await ledger.record({ siteName: name, serial: made.serial, notAfter: certificateFacts(made.cert, name).notAfter });
  await bundles.put(made);
  return made;
}
