import type { Site } from '../api/skupper/index.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import type { LinkConfig, Router, RouterState, TlsBundle } from '../router/contract.ts';
import type { CertificateState, TrustFacts } from '../site/observe/trust-facts.ts';
import { listAccesses, SITE_SERVER_BUNDLE, type Access } from '../site/plan/access.ts';
import { planCertificates, type DesiredBundle } from '../site/plan/certificates.ts';
import { publishedBundles } from '../site/plan/published-bundles.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { certificateHosts, commonBindHost, endpointsOf, reachableHosts, type Reach } from '../site/site-endpoints.ts';
import { keyOf, nameOf, type SiteResources } from '../site/resources.ts';
import { secretNames } from '../site/secret-names.ts';
import { isTokenLink } from '../site/token-link.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import { revocationsOf } from '../trust/revocation.ts';
import type { BundleSet, Ledger } from '../trust/stores.ts';
import type { LinkOffer } from '../trust/tokens/contract.ts';
import { defaultIssuerOf, possibleAuthorities, type Authorities } from './authorities.ts';
import { Certificates } from './certificates.ts';
import { GeneratedBundleReconciler } from './generated-bundles.ts';
import { GRANT_SERVER_BUNDLE, Grants, type GrantSettings } from './grants.ts';
import { OnceLog } from './once-log.ts';
import { planStaticLinks, writeStaticLinks } from './offline-links.ts';
import type { Identity, OfflineLinks, PublishedBundles, Source, Stores } from './ports.ts';
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
  readonly userBundles: BundleSet;
  /** Bundles among the user's resources. The site renews those of links. */
  readonly attached: readonly TlsBundle[];
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
  readonly published: PublishedBundles;
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
  readonly #generated: GeneratedBundleReconciler;
  readonly #once = new OnceLog();
  #latest: TrustInput | undefined;

  constructor(options: TrustOptions) {
    const { stores, source, identity, ledger, authorities, log, onChange, clock } = options;
    this.#options = options;
    this.#certificates = new Certificates(stores.bundles, authorities, ledger, stores.anchor);
    this.#generated = new GeneratedBundleReconciler(stores.generated, log);
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
    this.#options.authorities.refresh(possibleAuthorities(input));
    const desired = desiredBundles(input);
    const restless = await this.#withdraw(input);
    const { certificates, problems, issued } = await this.#issue(input, desired);
    await this.#publish(input, issued);
    const { accesses } = listAccesses(resources, site);
    const isUnread = (name: string): boolean => input.incomplete || input.unread.has(`AccessGrant/${name}`);
    const grants = await this.#grants.ensure(resources.AccessGrant, isUnread, grantSettings(input, accesses), now);
    const own = ownBundles(resources, accesses, desired);
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
    const { userBundles } = this.#latest;
    await this.#renewals.check(links, router, (bundle) => !isOfUser(userBundles, bundle));
    try {
      await this.#keepStaticLinks(router, this.#latest);
    } catch (error) {
      const message = `links for other sites cannot be written: ${messageOf(error)}`;
      this.#once.say(message, () => this.#options.log.error({ error }, message));
    }
  }

  async #publish(input: TrustInput, issued: BundleSet): Promise<void> {
    const { resources, site, incomplete, unread } = input;
    const { published } = this.#options;
    const bundles = bundlesInUse(input, issued);
    const desired = [...publishedBundles(resources, site)].flatMap((name) => bundles.get(name) ?? []);
    try {
      await published.write(desired);
      if (!incomplete && unread.size === 0) await published.keepOnly(desired.map(({ name }) => name));
    } catch (error) {
      const message = `copies of TLS bundles for scripts cannot be written: ${messageOf(error)}`;
      this.#once.say(message, () => this.#options.log.error({ error }, message));
    }
  }

  async #keepStaticLinks(router: Router, input: TrustInput): Promise<void> {
    const { offlineLinks, stores } = this.#options;
    const { resources, site, reach, incomplete, unread } = input;
    const { accesses } = listAccesses(resources, site);
    const bundles = bundlesInUse(input, accesses.length === 0 ? undefined : await stores.bundles.list());
    const desired = planStaticLinks(accesses, reach, accesses.length === 0 ? {} : router.state.accesses, bundles);
    await writeStaticLinks(desired, offlineLinks);
    if (!incomplete && unread.size === 0) await offlineLinks.keepOnly(desired);
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

  async #issue(input: TrustInput, desired: readonly DesiredBundle[]): Promise<Issue> {
    const { bundles } = this.#options.stores;
    const ofTokens = bundlesOfTokens(input.resources);
    const revoked = new Set(revocationsOf(await this.#options.ledger.revoked()).serials);
    let issued = await bundles.list();
    const own = await this.#withoutGiven(input, desired, issued);
    const certificates = new Map<string, CertificateState>(desired.map(({ name }) => [name, {}]));
    const problems: ResourceProblem[] = [];
    let anyWritten = false;
    await this.#generated.note(own);
    for (const bundle of own) {
      // The site's own servers keep the default lifetime, since the setting is for certificates of links.
      const days = bundle.recordedAs === undefined ? bundle.days : input.settings.certificateDays;
      const { written, ...state } = await this.#certificates.ensure(bundle, {
        site: input.site,
        issued,
        ofTokens,
        revoked,
        keepsPurpose: input.incomplete || [...input.unread].some((key) => key.startsWith('RouterAccess/') || key.startsWith('Site/')),
        now: input.now,
        ...(days === undefined ? {} : { days }),
      });
      certificates.set(bundle.name, state);
      problems.push(...problemsOf(bundle, state));
      if (written) this.#written(bundle);
      anyWritten ||= written;
    }
    const isCertain = !input.incomplete && input.unread.size === 0 && input.userBundles.isUnlisted !== true;
    if (isCertain) await this.#generated.removeOthers(own, input.resources);
    if (anyWritten) issued = await bundles.list();
    return { certificates, problems, issued };
  }

  /** Leaves out bundles that others have put there, or may have. A generated bundle never takes the place of such a bundle. */
  async #withoutGiven(input: TrustInput, desired: readonly DesiredBundle[], issued: BundleSet): Promise<readonly DesiredBundle[]> {
    const { userBundles, attached, incomplete, unread } = input;
    const own = desired.filter(({ name }) => !isOfUser(userBundles, name));
    if (!own.some(({ isGenerated }) => isGenerated === true)) return own;
    const given = new Set([...attached.map(({ name }) => name), ...(await this.#options.stores.tokens.createdBundles())]);
    const generated = await this.#generated.names();
    const isUnreadLink = [...unread].some((key) => key.startsWith('Link/'));
    const isFree = ({ name }: DesiredBundle): boolean => {
      if (given.has(name)) return false;
      if (generated.has(name)) return true;
      const isUncertain = incomplete || isUnreadLink || unread.has(`Certificate/${name}`);
      return userBundles.isUnlisted !== true && !(isUncertain && (issued.bundles.has(name) || issued.unreadable.has(name)));
    };
    return own.filter((bundle) => bundle.isGenerated !== true || isFree(bundle));
  }

  #written({ name, resource, order }: DesiredBundle): void {
    this.#withdrawals.gave(resource);
    this.#options.log.info({ bundle: name, hosts: order.hosts }, 'certificate issued');
    if (order.signing) this.#options.authorities.refresh();
  }
}

/** Precedence: the user's bundles, then those among its resources, then issued ones. */
function bundlesInUse({ userBundles, attached }: TrustInput, issued: BundleSet | undefined): Pick<ReadonlyMap<string, TlsBundle>, 'get'> {
  const given = new Map([...attached.map((bundle) => [bundle.name, bundle] as const), ...userBundles.bundles]);
  return { get: (name) => given.get(name) ?? issued?.bundles.get(name) };
}

function isOfUser({ bundles, unreadable }: BundleSet, name: string): boolean {
  return bundles.has(name) || unreadable.has(name);
}

interface Issue {
  readonly certificates: ReadonlyMap<string, CertificateState>;
  readonly problems: readonly ResourceProblem[];
  readonly issued: BundleSet;
}

/** Bundles that the site may create later, even if they are not desired now. */
const OWN_BUNDLES: readonly string[] = [SITE_SERVER_BUNDLE, GRANT_SERVER_BUNDLE];

/** Names of bundles that the site creates, and of those used by anything other than a Link, whether or not they exist yet. */
function ownBundles(resources: SiteResources, accesses: readonly Access[], desired: readonly DesiredBundle[]): ReadonlySet<string> {
  const { Listener, MultiKeyListener, Connector } = resources;
  const shown = [...Listener, ...MultiKeyListener, ...Connector].flatMap(({ spec: { tlsCredentials = '' } }) => tlsCredentials);
  return new Set([...OWN_BUNDLES, ...desired.map(({ name }) => name), ...accesses.map(({ bundle }) => bundle), ...shown]);
}

function bundlesOfTokens({ Link }: SiteResources): ReadonlySet<string> {
  return new Set(
    Link.filter(isTokenLink).flatMap(({ spec: { tlsCredentials } }) => (tlsCredentials === undefined ? [] : [tlsCredentials])),
  );
}

function desiredBundles(input: TrustInput): readonly DesiredBundle[] {
  const { resources, site, reach } = input;
  return planCertificates(resources, site, reach, resources.AccessGrant.length === 0 ? [] : [grantServerBundle(input)]);
}

function grantServerBundle({ resources, site, reach }: TrustInput): DesiredBundle {
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
function problemsOf({ resource }: DesiredBundle, { problem }: CertificateState): readonly ResourceProblem[] {
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
