import { RevokeOnDelete } from '../../agent/revoke-on-delete.ts';
import type { Identity } from '../../agent/ports.ts';
import { annotation, RECORDS, ROUTER } from '../../api/skupper/cluster-names.ts';
import type { Site } from '../../api/skupper/index.ts';
import type { Revocations } from '../../identity/issued.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { configMaps } from '../../kube/resource.ts';
import { noTrust, type CertificateState, type TrustFacts } from '../../site/observe/trust-facts.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Anchor } from '../../trust/anchor.ts';
import type { Clock } from '../../trust/contract.ts';
import type { TrustError } from '../../trust/errors.ts';
import { revocationsOf } from '../../trust/revocation.ts';
import type { SiteCaches } from '../caches.ts';
import { mapConcurrent } from '../../work/map-concurrent.ts';
import type { TimeSlices } from '../../limits/loop/time-slices.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import type { GrantService } from '../tokens/grant-service.ts';
import { openSecretGrants } from '../tokens/secret-grants.ts';
import { SiteTokens, type TokensStep } from '../tokens/site-tokens.ts';
import { isControlled } from './certificate-object.ts';
import { CertificateSecrets } from './certificate-secrets.ts';
import { TrustFindings } from './trust-findings.ts';
import { RenewalHandler } from './renewals.ts';
import { anchorIn } from './router-anchor.ts';
import { SiteSecretBundles } from './site-secret-bundles.ts';
import { SecretLedger } from './secret-ledger.ts';
import { SecretPendingKeys } from './secret-pending-keys.ts';
import { siteIdentity } from './site-key.ts';
import { SiteSecrets } from './site-secrets.ts';
import { unrecorded } from './unrecorded.ts';
import { defaultIssuerOf, desiredSecrets, type DesiredSecret } from './desired-secrets.ts';

export interface SiteTrustOptions {
  readonly namespace: string;
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly log: Logger;
  readonly grantService: GrantService;
  /** Enqueues a namespace. */
  readonly wake: (namespace: string) => void;
  readonly clock?: Clock;
}

export interface TrustStep {
  readonly facts: TrustFacts;
  readonly problems: readonly ResourceProblem[];
  /** Undefined while the revocations are unreadable: routers then keep the previous ones. */
  readonly revoked: Revocations | undefined;
  /** New anchor; undefined keeps the current one. */
  readonly anchor: Anchor | undefined;
  /** Milliseconds until the next reconcile is due. */
  readonly again?: number;
  /** Error that a retry may resolve. */
  readonly failed?: unknown;
}

/** Milliseconds; timers are limited to 24 days. */
const LONGEST_WAIT = 20 * 86_400_000;
/** Milliseconds; delays the retry of what was due and failed. */
const SHORTEST_WAIT = 1_000;

/** Keys, CAs, certificates and revocations of one site, reconciled with its resources. */
export class SiteTrust implements AsyncDisposable {
  readonly #options: SiteTrustOptions;
  #kept: Kept | undefined;
  #site: Site | undefined;
  #tokens: { readonly id: string; readonly tokens: SiteTokens } | undefined;

  constructor(options: SiteTrustOptions) {
    this.#options = options;
  }

  async step(view: NamespaceView, signal: AbortSignal, slices: TimeSlices): Promise<TrustStep> {
    const { site } = view;
    if (site === undefined) return this.#stepWithoutSite(view, signal, slices);
    const kept = await this.#keptFor(site);
    this.#site = site;
    const found = new TrustFindings(site, signal);
    await found.attempt(() => kept.secrets.adopt(RECORDS));
    const identity = await found.attempt(() => siteIdentity(kept.secrets, kept.anchor()));
    const mended = await found.attempt(() => kept.ledger.mend());
    // Revocations come first: without them nothing is signed.
    const revoked = await found.attempt(async () => revocationsOf(await kept.ledger.revoked()));
    const desired = desiredSecrets(view, site);
    const issued = revoked === undefined ? noIssue : await this.#issue(kept, view, desired, revoked, found, slices);
    const tokens =
      identity === undefined || revoked === undefined ? undefined : await found.attempt(() => this.#stepTokens(kept, identity, view));
    if (revoked !== undefined) await found.attempt(() => kept.renewals.step(view, site, desired, slices));
    const after = revoked === undefined ? undefined : await found.attempt(async () => revocationsOf(await kept.ledger.revoked()));
    return {
      facts: { ...noTrust, ...tokens?.facts, certificates: issued.certificates, defaultIssuer: defaultIssuerOf(site) },
      problems: [
        ...found.problems,
        ...(mended ?? []).map((finding) => ({ resource: keyOf(site), ...finding })),
        ...issuerProblems(site, issued),
        ...(tokens?.problems ?? []),
      ],
      revoked: after,
      anchor: mended === undefined || identity === undefined ? undefined : anchorOf(kept, identity, view),
      ...this.#again(soonest([issued.due, tokens?.due])),
      ...(found.failed === undefined ? {} : { failed: found.failed }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kept = undefined;
    const { tokens } = this.#tokens ?? {};
    this.#tokens = undefined;
    await tokens?.[Symbol.asyncDispose]();
  }

  /** Issues only what the controller itself needs: for the grant server, for a SecuredAccess. None of it belongs to a site. */
  async #stepWithoutSite(view: NamespaceView, signal: AbortSignal, slices: TimeSlices): Promise<TrustStep> {
    await this[Symbol.asyncDispose]();
    const { namespace, client, caches, clock = Date.now } = this.#options;
    const certificates = new CertificateSecrets(new SiteSecrets({ namespace, client, caches }), unrecorded, clock);
    const found = new TrustFindings(undefined, signal);
    const [own, others] = parted(desiredSecrets(view, undefined), ({ certificate }) => isControlled(certificate));
    const { certificates: states, due } = await ensureAll(certificates, own, new Set(), found, slices);
    const facts = { ...noTrust, certificates: new Map([...states, ...others.map(({ name }) => [name, NO_SITE] as const)]) };
    const failed = found.failed === undefined ? {} : { failed: found.failed };
    return { facts, problems: [], revoked: undefined, anchor: undefined, ...this.#again(due), ...failed };
  }

  /** A new Site in the namespace is another site, with its own state. */
  async #keptFor(site: Site): Promise<Kept> {
    const { uid = '' } = site.metadata;
    if (this.#kept?.uid === uid) return this.#kept;
    await this[Symbol.asyncDispose]();
    const { namespace, client, caches, log, clock = Date.now } = this.#options;
    const secrets = new SiteSecrets({ namespace, client, caches, site: ownerOf(site) });
    const onDamage = (damage: TrustError): void => log.error({ namespace, error: damage }, damage.message);
    const anchor = (): Anchor => anchorIn(caches.view(configMaps).get(`${namespace}/${ROUTER}`), uid);
    const ledger = new SecretLedger(secrets, { clock, onDamage, anchor });
    const certificates = new CertificateSecrets(secrets, ledger, clock, anchor);
    const renewals = new RenewalHandler({ client, caches, ledger, certificates, log, clock });
    this.#kept = { uid, secrets, anchor, ledger, certificates, renewals, withdrawals: new RevokeOnDelete(ledger, 0) };
    return this.#kept;
  }

  async #issue(
    { certificates, withdrawals }: Kept,
    { unreadable }: NamespaceView,
    desired: readonly DesiredSecret[],
    revoked: Revocations,
    found: TrustFindings,
    slices: TimeSlices,
  ): Promise<Issue> {
    // A Certificate in the API server exists or not: nothing replaces one in two steps, so the grace period is 0.
    await found.attempt(() => withdrawals.step(new Set([...desired.map(({ resource }) => resource), ...unreadable.map(keyOf)]), 0));
    const issue = await ensureAll(certificates, desired, new Set(revoked.serials), found, slices);
    for (const { name, resource, hosts } of issue.written) {
      withdrawals.gave(resource);
      this.#options.log.info({ namespace: this.#options.namespace, secret: name, hosts }, 'certificate issued');
    }
    return issue;
  }

  async #stepTokens(kept: Kept, identity: Identity, view: NamespaceView): Promise<TokensStep> {
    const { clock = Date.now } = this.#options;
    if (this.#tokens?.id !== identity.id) {
      await this.#tokens?.tokens[Symbol.asyncDispose]();
      this.#tokens = { id: identity.id, tokens: this.#openTokens(kept, identity) };
    }
    return this.#tokens.tokens.step(view, clock());
  }

  #openTokens({ secrets, ledger, certificates }: Kept, identity: Identity): SiteTokens {
    const { namespace, client, caches, grantService, log, wake, clock = Date.now } = this.#options;
    return new SiteTokens({
      client,
      caches,
      grantService,
      namespace,
      identity,
      ledger,
      grants: openSecretGrants(secrets, { ledger, clock }),
      bundles: new SiteSecretBundles(secrets, () => ({
        ownerReferences: [secrets.site],
        annotations: { [annotation.tokenBundle]: 'true' },
      })),
      pendingKeys: new SecretPendingKeys(secrets),
      authority: (issuer = '') => certificates.issuers.find(issuer === '' ? defaultIssuerOf(this.#site) : issuer),
      log,
      onChange: () => wake(namespace),
    });
  }

  #again(due: number | undefined): { readonly again?: number } {
    if (due === undefined) return {};
    const { clock = Date.now } = this.#options;
    return { again: Math.min(Math.max(due - clock(), SHORTEST_WAIT), LONGEST_WAIT) };
  }
}

const NO_SITE: CertificateState = {
  problem: { code: 'no-site', message: 'this namespace has no Site, so no certificate is issued in it; create one.' },
};

/** The Site repeats the problem of its default CA, since all links depend on that CA. */
function issuerProblems(site: Site, { certificates }: Issue): readonly ResourceProblem[] {
  const problem = certificates.get(defaultIssuerOf(site))?.problem;
  return problem === undefined ? [] : [{ resource: keyOf(site), severity: 'error', ...problem }];
}

function anchorOf({ ledger, certificates }: Kept, { id }: Identity, { resources, unreadable }: NamespaceView): Anchor {
  const stored = new Set([...resources.Certificate, ...unreadable].map(keyOf));
  return { ...ledger.anchor, siteId: id, authorities: certificates.authorities((name) => stored.has(`Certificate/${name}`)) };
}

function parted<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

function soonest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** State of one Site, while it is the active Site of the namespace. */
interface Kept {
  readonly uid: string;
  readonly secrets: SiteSecrets;
  readonly anchor: () => Anchor;
  readonly ledger: SecretLedger;
  readonly certificates: CertificateSecrets;
  readonly renewals: RenewalHandler;
  readonly withdrawals: RevokeOnDelete;
}

interface Issue {
  readonly certificates: ReadonlyMap<string, CertificateState>;
  readonly written: readonly DesiredSecret[];
  /** Time at which the first of them must be issued again. */
  readonly due: number | undefined;
}

const noIssue: Issue = { certificates: new Map(), written: [], due: undefined };

/** Number of certificates that are issued concurrently: one write records all of them. */
const ISSUED_AT_ONCE = 64;

async function ensureAll(
  secrets: CertificateSecrets,
  desired: readonly DesiredSecret[],
  revoked: ReadonlySet<string>,
  found: TrustFindings,
  slices: TimeSlices,
): Promise<Issue> {
  const certificates = new Map<string, CertificateState>();
  const written: DesiredSecret[] = [];
  let soonestDue: number | undefined;
  secrets.keepOnly(desired);
  const ensure = async (each: DesiredSecret): Promise<void> => {
    await slices.next();
    const { state, due, isWritten, failed } = await secrets.ensure(each, revoked);
    if (state !== undefined) certificates.set(each.name, state);
    soonestDue = soonest([soonestDue, due]);
    if (isWritten === true) written.push(each);
    found.failed ??= failed;
  };
  // CAs come first, since they sign the others.
  const [authorities, others] = parted(desired, ({ signing }) => signing);
  for (const each of authorities) await ensure(each);
  await mapConcurrent(
    ISSUED_AT_ONCE,
    others.map((each) => () => ensure(each)),
  );
  return { certificates, written, due: soonestDue };
}
