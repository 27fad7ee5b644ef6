import type { Site } from '../api/skupper/index.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import type { LinkConfig, Router, RouterState } from '../router/contract.ts';
import type { CertificateState, TrustFacts } from '../site/observe/trust-facts.ts';
import { listAccesses, SITE_SERVER_BUNDLE, type Access } from '../site/plan/access.ts';
import { planCertificates, type WantedBundle } from '../site/plan/certificates.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { certificateHosts, commonBindHost, endpointsOf, reachableHosts, type Reach } from '../site/site-endpoints.ts';
import { keyOf, nameOf, type SiteResources } from '../site/resources.ts';
import { secretNames } from '../site/secret-names.ts';
import { isTokenLink } from '../site/token-link.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import { revocationsOf } from '../trust/revocation.ts';
import type { BundleSet, Ledger } from '../trust/stores.ts';
import type { LinkOffer } from '../trust/tokens/contract.ts';
import { defaultIssuerOf, type Authorities } from './authorities.ts';
import { Certificates } from './certificates.ts';
import { GRANT_SERVER_BUNDLE, Grants, type GrantSettings } from './grants.ts';
import { keepOfflineLinks } from './offline-links.ts';
import type { Identity, OfflineLinks, Source, Stores } from './ports.ts';
import { Renewals } from './renewals.ts';
import type { SiteSettings } from './settings.ts';
import { Tokens } from './tokens.ts';
import { RevokeOnDelete } from './revoke-on-delete.ts';

export interface TrustInput {
  readonly resources: SiteResources;
  readonly site: Site;
  readonly settings: SiteSettings;
  readonly reach: Reach;
  /** Some input is unreadable, so a missing resource may still be desired. */
  readonly incomplete: boolean;
  /** Keys of resources that exist but are unreadable. */
  readonly unread: ReadonlySet<string>;
  /** Bundles of the user. Never replaced. */
  readonly userBundles: ReadonlyMap<string, unknown>;
  readonly now: number;
}

export interface TrustOutcome {
  readonly facts: TrustFacts;
  readonly problems: readonly ResourceProblem[];
  readonly issued: BundleSet;
  /** The caller has to call `step` again soon. */
  readonly restless: boolean;
}

export interface TrustOptions {
  readonly stores: Stores;
  readonly source: Pick<Source, 'bundleLocation'>;
  readonly offlineLinks: OfflineLinks;
  readonly identity: Identity;
  readonly ledger: Ledger;
  readonly authorities: Authorities;
  readonly log: Logger;
  readonly routerState: () => RouterState | undefined;
  /** Called after a change of the input of the next step. */
  readonly onChange: () => void;
  /** Returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** Trust of one site, in the leading process: certificates, grants, tokens, links for other sites, and renewals. */
export class Trust implements AsyncDisposable {
  readonly #options: TrustOptions;
  readonly #certificates: Certificates;
  readonly #withdrawals: RevokeOnDelete;
  readonly #grants: Grants;
  readonly #tokens: Tokens;
  readonly #renewals: Renewals;
  #latest: TrustInput | undefined;

  constructor(options: TrustOptions) {
    const { stores, source, identity, ledger, authorities, log, onChange, clock } = options;
    this.#options = options;
    this.#certificates = new Certificates(stores.bundles, authorities, ledger, stores.anchor);
    this.#withdrawals = new RevokeOnDelete(ledger);
    this.#tokens = new Tokens({ stores, identity, log, onChange });
    this.#renewals = new Renewals({ stores, bundleLocation: (name) => source.bundleLocation(name), log, onChange, clock });
    this.#grants = new Grants({
      stores,
      ledger,
      log,
      onChange,
      offer: () => offerOf(this.#latest, identity, options.routerState()),
      authority: (issuer) => (this.#latest === undefined ? Promise.reject(noSite()) : authorities.find(issuer, this.#latest.site)),
    });
  }

  async step(input: TrustInput): Promise<TrustOutcome> {
    this.#latest = input;
    const { resources, site, now } = input;
    const wanted = wantedBundles(input);
    const restless = await this.#withdraw(input);
    const { certificates, problems, issued } = await this.#issue(input, wanted);
    const { accesses } = listAccesses(resources, site);
    const isUnread = (name: string): boolean => input.incomplete || input.unread.has(`AccessGrant/${name}`);
    const grants = await this.#grants.ensure(resources.AccessGrant, isUnread, grantSettings(input, accesses), now);
    const own = ownBundles(resources, accesses, wanted);
    const tokens = await this.#tokens.ensure(resources.AccessToken, site, own);
    await this.#tokens.removeUnused(input.incomplete || input.unread.size > 0 ? undefined : own.union(secretNames(resources)), now);
    return {
      facts: { grants, tokens, certificates, defaultIssuer: defaultIssuerOf(site) ?? 'earshot-site-ca' },
      problems: [...problems, ...this.#renewals.problems()],
      issued,
      restless,
    };
  }

  /** Does work that depends on the router's state: links for other sites, and renewals. */
  async follow(router: Router, links: readonly LinkConfig[]): Promise<void> {
    if (this.#latest === undefined) return;
    const { offlineLinks: kept, ledger, authorities } = this.#options;
    const { resources, site, reach, settings, userBundles, incomplete, unread, now } = this.#latest;
    await this.#renewals.check(links, router, (bundle) => !userBundles.has(bundle));
    const { accesses } = listAccesses(resources, site);
    try {
      const states = accesses.length === 0 ? {} : router.state.accesses;
      const sources = accesses.map((access) => ({ access, endpoints: endpointsOf(access, reach, states) }));
      const { certificateDays: days } = settings;
      await keepOfflineLinks(sources, { links: kept, ledger, authorities, site, now, ...(days === undefined ? {} : { days }) });
      if (!incomplete && unread.size === 0) await kept.keepOnly(accesses.map(({ name }) => `link-${name}`));
    } catch (error) {
      this.#options.log.error({ error }, `links for other sites cannot be written: ${messageOf(error)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tokens[Symbol.dispose]();
    this.#renewals[Symbol.dispose]();
    await this.#grants[Symbol.asyncDispose]();
  }

  async #withdraw({ resources, incomplete, unread, now }: TrustInput): Promise<boolean> {
    if (incomplete) return false;
    try {
      return await this.#withdrawals.step(new Set([...resources.Certificate.map(keyOf), ...unread]), now);
    } catch (error) {
      this.#options.log.error({ error }, `certificates of deleted Certificates cannot be revoked: ${messageOf(error)}`);
      return false;
    }
  }

  async #issue(input: TrustInput, wanted: readonly WantedBundle[]): Promise<Issue> {
    const { bundles } = this.#options.stores;
    const ofTokens = bundlesOfTokens(input.resources);
    const revoked = new Set(revocationsOf(await this.#options.ledger.revoked()).serials);
    const certificates = new Map<string, CertificateState>();
    const problems: ResourceProblem[] = [];
    let issued = await bundles.list();
    let anyWritten = false;
    for (const bundle of wanted) {
      if (input.userBundles.has(bundle.name)) {
        certificates.set(bundle.name, {});
        continue;
      }
      // The site's own servers keep the default lifetime, since the setting is for certificates of links.
      const { written, ...state } = await this.#certificates.ensure(bundle, {
        site: input.site,
        issued,
        ofTokens,
        revoked,
        keepsPurpose: input.incomplete || [...input.unread].some((key) => key.startsWith('RouterAccess/') || key.startsWith('Site/')),
        now: input.now,
      });
      certificates.set(bundle.name, state);
      problems.push(...problemsOf(bundle, state));
      if (written) this.#written(bundle);
      anyWritten ||= written;
    }
    if (anyWritten) issued = await bundles.list();
    return { certificates, problems, issued };
  }

  #written({ name, resource, order }: WantedBundle): void {
    this.#withdrawals.gave(resource);
    this.#options.log.info({ bundle: name, hosts: order.hosts }, 'certificate issued');
    if (order.signing) this.#options.authorities.forget();
  }
}

interface Issue {
  readonly certificates: ReadonlyMap<string, CertificateState>;
  readonly problems: readonly ResourceProblem[];
  readonly issued: BundleSet;
}

/** Bundles that the site may create later, even if they are not desired now. */
const OWN_BUNDLES: readonly string[] = [SITE_SERVER_BUNDLE, GRANT_SERVER_BUNDLE];

/** Names of bundles that the site creates, and of those used by anything other than a Link, whether or not they exist yet. */
function ownBundles(resources: SiteResources, accesses: readonly Access[], wanted: readonly WantedBundle[]): ReadonlySet<string> {
  const { Listener, MultiKeyListener, Connector } = resources;
  const shown = [...Listener, ...MultiKeyListener, ...Connector].flatMap(({ spec: { tlsCredentials = '' } }) => tlsCredentials);
  return new Set([...OWN_BUNDLES, ...wanted.map(({ name }) => name), ...accesses.map(({ bundle }) => bundle), ...shown]);
}

function bundlesOfTokens({ Link }: SiteResources): ReadonlySet<string> {
  return new Set(
    Link.filter(isTokenLink).flatMap(({ spec: { tlsCredentials } }) => (tlsCredentials === undefined ? [] : [tlsCredentials])),
  );
}

function wantedBundles(input: TrustInput): readonly WantedBundle[] {
  const { resources, site, reach } = input;
  const wanted = planCertificates(resources, site, reach);
  return resources.AccessGrant.length === 0 ? wanted : [...wanted, grantServerBundle(input)];
}

function grantServerBundle({ resources, site, reach }: TrustInput): WantedBundle {
  const { accesses } = listAccesses(resources, site);
  const hosts = accesses.length === 0 ? certificateHosts(undefined, reach) : accesses.flatMap((access) => certificateHosts(access, reach));
  return {
    name: GRANT_SERVER_BUNDLE,
    resource: `Site/${nameOf(site)}`,
    issuer: { kind: 'default' },
    order: { subject: nameOf(site), hosts: [...new Set(hosts)], client: false, server: true, signing: false },
  };
}

/** A Certificate reports its problem in its own status. */
function problemsOf({ resource }: WantedBundle, { problem }: CertificateState): readonly ResourceProblem[] {
  if (problem === undefined || resource.startsWith('Certificate/')) return [];
  return [{ resource, severity: 'error', code: problem.code, message: `its certificate cannot be issued: ${problem.message}` }];
}

function grantSettings({ settings, reach }: TrustInput, accesses: readonly Access[]): GrantSettings {
  const [first] = accesses;
  const host = commonBindHost(accesses);
  const { grantPort: port, certificateDays } = settings;
  return {
    ...(host === undefined ? {} : { host }),
    port,
    hosts: reachableHosts(first, reach),
    ...(certificateDays === undefined ? {} : { certificateDays }),
  };
}

function offerOf(input: TrustInput | undefined, identity: Identity, state: RouterState | undefined): LinkOffer {
  if (input === undefined || state === undefined) throw noSite();
  const { resources, site, reach } = input;
  const endpoints = listAccesses(resources, site).accesses.flatMap((access) => endpointsOf(access, reach, state.accesses));
  return {
    siteId: identity.id,
    siteName: nameOf(site),
    endpoints: endpoints.map(({ name = '', host = '', port = '', group }) => ({
      name,
      host,
      port,
      ...(group === undefined ? {} : { group }),
    })),
  };
}

export function noSite(): EarshotError {
  return new EarshotError('no-site', 'this namespace has no active Site; create one');
}
