import type { Endpoint, Site } from '../api/skupper/index.ts';
import type { Access } from '../site/plan/access.ts';
import type { IssuedBundle } from '../identity/tls-bundle.ts';
import type { Bundles, Ledger } from '../trust/stores.ts';
import { issueBundle } from '../trust/issue.ts';
import { revocationsOf } from '../trust/revocation.ts';
import { certificateFacts } from '../x509/facts.ts';
import type { Authorities } from './authorities.ts';
import { isRenewalDue } from './certificates.ts';
import type { OfflineLink, OfflineLinkSink } from './ports.ts';

export interface OfflineLinksOptions {
  readonly bundles: Bundles;
  readonly ledger: Ledger;
  readonly authorities: Authorities;
  readonly sink: OfflineLinkSink;
}

export interface OfflineLinkSource {
  readonly access: Access;
  /** Of what listens now. */
  readonly endpoints: readonly Endpoint[];
}

/** Links that other sites can use without a token: one certificate for each access, a link for each host. */
export class OfflineLinks {
  readonly #options: OfflineLinksOptions;

  constructor(options: OfflineLinksOptions) {
    this.#options = options;
  }

  async ensure(sources: readonly OfflineLinkSource[], site: Site, now: number, days?: number): Promise<void> {
    const links: OfflineLink[] = [];
    for (const { access, endpoints } of sources) {
      if (endpoints.length === 0) continue;
      const name = `link-${access.name}`;
      const bundle = await this.#bundleFor(name, site, access.issuer, now, days);
      for (const [host, own] of Map.groupBy(endpoints, (endpoint) => endpoint.host ?? '')) {
        links.push({ name, host, endpoints: own, bundle });
      }
    }
    await this.#options.sink.replace(links);
  }

  /** Put on record before it is handed out, so that it can be revoked by its name; then the next one is made. */
  async #bundleFor(name: string, site: Site, issuer: string | undefined, now: number, days: number | undefined): Promise<IssuedBundle> {
    const { bundles, ledger, authorities } = this.#options;
    const { cert, key, ca } = (await bundles.get(name)) ?? {};
    const authority = await authorities.find(issuer, site);
    if (cert !== undefined && key !== undefined && ca !== undefined) {
      const facts = certificateFacts(cert, `${bundles.locationOf(name)}/tls.crt`);
      const { serials } = revocationsOf(await ledger.revoked());
      if (facts.notBefore <= now && !isRenewalDue(facts, now) && !serials.includes(facts.serial)) return { name, cert, key, ca };
    }
    const made = issueBundle(authority, name, { subject: name, client: true, ...(days === undefined ? {} : { days }) });
    await ledger.record({ siteName: name, serial: made.serial, notAfter: certificateFacts(made.cert, name).notAfter });
    await bundles.put(made);
    return made;
  }
}
