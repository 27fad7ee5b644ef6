import { pendingKeyOf, Tokens } from '../../agent/tokens.ts';
import type { Identity } from '../../agent/ports.ts';
import { CONTROLLERS_SECRETS, LOCAL_SERVER, RECORDS, SITE_SERVER } from '../../api/skupper/cluster-names.ts';
import type { Site } from '../../api/skupper/index.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { GrantFacts, TrustFacts } from '../../site/observe/trust-facts.ts';
import { uselessGrants } from '../../site/plan/access.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { nameOf, type SiteResources } from '../../site/resources.ts';
import { secretNames } from '../../site/secret-names.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Authority } from '../../trust/contract.ts';
import type { Bundles, GrantStore, Ledger } from '../../trust/stores.ts';
import { attachedCredentials, hasUnreadableAttached } from '../attached/bound.ts';
import type { SiteCaches } from '../caches.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import type { SecretPendingKeys } from '../trust/secret-pending-keys.ts';
import type { GrantService } from './grant-service.ts';
import { SiteGrants } from './site-grants.ts';
import { isOfTokens, TokenLinks } from './token-links.ts';

export interface SiteTokensOptions {
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly grantService: GrantService;
  readonly namespace: string;
  readonly identity: Identity;
  readonly ledger: Ledger;
  readonly grants: GrantStore;
  readonly bundles: Bundles;
  readonly pendingKeys: SecretPendingKeys;
  readonly authority: (issuer: string | undefined) => Promise<Authority>;
  readonly log: Logger;
  /** Called when a token was redeemed, here or by another site, or when redemption failed. */
  readonly onChange: () => void;
}

export interface TokensStep {
  readonly facts: Pick<TrustFacts, 'grants' | 'tokens'>;
  readonly problems: readonly ResourceProblem[];
  /** Time at which the next grant expires, which changes its status, or at which the next bundle without a Link is removed. */
  readonly due?: number;
}

/** Both ends of tokens for one site, while the Site exists: its AccessGrants, and the AccessTokens that other sites issued. */
export class SiteTokens implements AsyncDisposable {
  readonly #tokens: Tokens;
  readonly #grants: SiteGrants;
  readonly #pendingKeys: SecretPendingKeys;
  #view: NamespaceView | undefined;

  constructor({
    client,
    caches,
    grantService,
    namespace,
    identity,
    ledger,
    grants,
    bundles,
    pendingKeys,
    authority,
    log,
    onChange,
  }: SiteTokensOptions) {
    const tokens = new TokenLinks({ client, caches, namespace, owner: () => ownerOf(this.#site()) });
    // While its status does not say that a token is redeemed, the next controller redeems it again. The key is kept, so that this is the
    // same redemption.
    const kept = { keyFor: (name: string) => pendingKeys.keyFor(name), drop: () => Promise.resolve() };
    this.#tokens = new Tokens({ stores: { bundles, pendingKeys: kept, tokens }, identity, log: log.child({ namespace }), onChange });
    this.#pendingKeys = pendingKeys;
    grants.onChange(onChange);
    this.#grants = new SiteGrants({ grantService, store: grants, ledger, siteId: identity.id, authority });
  }

  async step(view: NamespaceView, now: number): Promise<TokensStep> {
    const { resources, unreadable, site } = view;
    this.#view = view;
    if (site === undefined) return { facts: { grants: new Map(), tokens: new Map() }, problems: [] };
    const tokens = await this.#tokens.ensure(resources.AccessToken, site, takenNames(resources, site));
    const isUnknown = unreadable.length > 0 || hasUnreadableAttached(view);
    const inUse = takenNames(resources, site).union(secretNames(resources, attachedCredentials(view)));
    const unused = await this.#tokens.removeUnused(isUnknown ? undefined : inUse, now);
    const waiting = resources.AccessToken.filter(({ status }) => status?.redeemed !== true);
    const unread = unreadable.filter(({ kind }) => kind === 'AccessToken');
    await this.#pendingKeys.keepOnly(new Set([...waiting, ...unread].map((token) => pendingKeyOf(nameOf(token)))));
    const grants = await this.#grants.step(view, now);
    const letsNobodyIn = resources.RouterAccess.length === 0 && (site.spec.linkAccess ?? 'none') === 'none';
    return {
      facts: { grants, tokens },
      problems: letsNobodyIn || site.spec.edge === true ? uselessGrants(resources, site) : [],
      ...soonest([...grants.values()], unused),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tokens[Symbol.dispose]();
    await this.#grants[Symbol.asyncDispose]();
  }

  #site(): NonNullable<NamespaceView['site']> {
    const site = this.#view?.site;
    if (site === undefined) throw new Error('these tokens do not belong to a site');
    return site;
  }
}

function soonest(grants: readonly GrantFacts[], unused: number | undefined): Pick<TokensStep, 'due'> {
  const expiries = grants.flatMap(({ expires, expired }) => (expires === undefined || expired ? [] : [expires]));
  const ahead = unused === undefined ? expiries : [...expiries, unused];
  return ahead.length === 0 ? {} : { due: Math.min(...ahead) };
}

/**
 * Names of Secrets that other resources use or create, and of Links that no token created. The name of a token comes from its file, so
 * another site may have chosen it.
 */
function takenNames(
  { Certificate, RouterAccess, Listener, MultiKeyListener, Connector, Link }: SiteResources,
  site: Site,
): ReadonlySet<string> {
  const shown = [...RouterAccess, ...Listener, ...MultiKeyListener, ...Connector].map(({ spec }) => spec.tlsCredentials ?? '');
  const persons = Link.filter((link) => !isOfTokens(link, { uid: site.metadata.uid ?? '' })).map(nameOf);
  return new Set([...RECORDS, ...CONTROLLERS_SECRETS, SITE_SERVER, LOCAL_SERVER, ...Certificate.map(nameOf), ...shown, ...persons]);
}
