import type { Site } from '../api/skupper/index.ts';
import type { IssuedCertificate, LinkConfig, Revocations, Router, RouterHooks } from '../router/contract.ts';
import { RenewalPace } from '../trust/renewal-pace.ts';
import { renewFor } from '../trust/renewal.ts';
import { revocationsOf } from '../trust/revocation.ts';
import { problemOf } from '../errors/problem.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { keyOf } from '../site/resources.ts';
import type { AnchoredLedger } from '../trust/stores.ts';
import { Authorities, possibleAuthorities } from './authorities.ts';
import type { Identity, Signing, Snapshot } from './ports.ts';
import { readSettings } from './settings.ts';
import type { SiteSigning } from './signing.ts';
import { Trust, type TrustInput, type TrustOptions, type TrustOutcome } from './trust.ts';

export interface OwnSigningOptions extends Pick<TrustOptions, 'log' | 'routerState' | 'onChange' | 'clock' | 'source'> {
  readonly signing: Extract<Signing, { readonly kind: 'here' }>;
}

/** Signs with the site's CAs, whose keys this process has. */
export class OwnSigning implements SiteSigning {
  readonly #options: OwnSigningOptions;
  readonly #authorities: Authorities;
  readonly #pace = new RenewalPace();
  #ledger: AnchoredLedger | undefined;
  #trust: Trust | undefined;

  constructor(options: OwnSigningOptions) {
    this.#options = options;
    this.#authorities = new Authorities(options.signing.stores);
  }

  async revocations(): Promise<Revocations> {
    return revocationsOf(await (await this.#records()).revoked());
  }

  async siteAuthority(site: Site, leads: boolean, snapshot: Pick<Snapshot, 'attached' | 'resources'>): Promise<string | undefined> {
    // `step` does it for the leader.
    if (!leads) this.#authorities.refresh(possibleAuthorities(snapshot));
    return (await this.#authorities.default(site, leads))?.ca;
  }

  async step(input: TrustInput, identity: Identity): Promise<TrustOutcome> {
    const { signing, ...others } = this.#options;
    const { kind: _, ...places } = signing;
    this.#trust ??= new Trust({ ...others, ...places, identity, ledger: await this.#records(), authorities: this.#authorities });
    const problems = await this.#missingState(input.site);
    const outcome = await this.#trust.step(input);
    return { ...outcome, problems: [...problems, ...outcome.problems] };
  }

  /** Checks the state that the site keeps beside its resources, also while a copy in memory still serves. */
  async #missingState(site: Site): Promise<readonly ResourceProblem[]> {
    const { stores } = this.#options.signing;
    const problems: ResourceProblem[] = [];
    const attempt = async (check: () => Promise<unknown>): Promise<void> => {
      try {
        await check();
      } catch (error) {
        problems.push({ resource: keyOf(site), severity: 'error', ...problemOf(error) });
      }
    };
    await attempt(() => stores.identity(false));
    await attempt(() => this.#authorities.checkOwn(site));
    await attempt(async () => {
      for (const finding of await (await this.#records()).mend()) problems.push({ resource: keyOf(site), ...finding });
    });
    return problems;
  }

  async follow(router: Router, links: readonly LinkConfig[]): Promise<void> {
    await this.#trust?.follow(router, links);
  }

  async renew(site: Site, ...[peer, request]: Parameters<NonNullable<RouterHooks['renew']>>): Promise<IssuedCertificate> {
    const authority = await this.#authorities.signerOf(peer.certificate, site);
    const { certificateDays: days } = readSettings(site);
    return renewFor(authority, peer, request, { ledger: await this.#records(), pace: this.#pace, ...(days === undefined ? {} : { days }) });
  }

  async end(): Promise<void> {
    const trust = this.#trust;
    this.#trust = undefined;
    await trust?.[Symbol.asyncDispose]();
  }

  async #records(): Promise<AnchoredLedger> {
    this.#ledger ??= await this.#options.signing.stores.ledger();
    return this.#ledger;
  }
}
