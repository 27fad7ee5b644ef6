import type { Site } from '../api/skupper/index.ts';
import type { IssuedCertificate, LinkConfig, Revocations, Router, RouterHooks } from '../router/contract.ts';
import { noTrust } from '../site/observe/trust-facts.ts';
import type { RouterStores, Signing } from './ports.ts';
import { Renewals, type RenewalsOptions } from './renewals.ts';
import type { SiteSigning } from './signing.ts';
import type { TrustInput, TrustOutcome } from './trust.ts';

export interface RemoteSigningOptions extends Omit<RenewalsOptions, 'stores'> {
  readonly stores: RouterStores;
  readonly signing: Extract<Signing, { readonly kind: 'elsewhere' }>;
}

/** Asks the process that has the site's CAs to sign. This engine only renews the certificates of its own links, over those links. */
export class RemoteSigning implements SiteSigning {
  readonly #options: RemoteSigningOptions;
  #renewals: Renewals | undefined;
  #latest: TrustInput | undefined;

  constructor(options: RemoteSigningOptions) {
    this.#options = options;
  }

  revocations(): Promise<Revocations> {
    return this.#options.signing.revocations();
  }

  siteAuthority(): Promise<string | undefined> {
    return this.#options.signing.siteAuthority();
  }

  async step(input: TrustInput): Promise<TrustOutcome> {
    this.#latest = input;
    return {
      facts: noTrust,
      problems: this.#renewals?.problems() ?? [],
      issued: await this.#options.stores.bundles.list(),
      restless: false,
    };
  }

  async follow(router: Router, links: readonly LinkConfig[]): Promise<void> {
    if (this.#latest === undefined) return;
    const { userBundles } = this.#latest;
    this.#renewals ??= new Renewals(this.#options);
    await this.#renewals.check(links, router, (bundle) => !userBundles.bundles.has(bundle));
  }

  renew(_site: Site, ...asked: Parameters<NonNullable<RouterHooks['renew']>>): Promise<IssuedCertificate> {
    return this.#options.signing.renew(...asked);
  }

  end(): Promise<void> {
    this.#renewals?.[Symbol.dispose]();
    this.#renewals = undefined;
    this.#latest = undefined;
    return Promise.resolve();
  }
}
