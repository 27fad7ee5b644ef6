/**
 * What the engine that keeps a site asks of the platform that the site lives on. The engine decides what a site does; a platform knows
 * where its resources, keys and statuses are. So nothing here is a path, an object of a cluster, or a way to watch either: names and
 * sentences for people come from the platform as text.
 *
 * Whatever rejects, rejects for now: the engine tells why, and asks again at the next pass.
 */
import type { Endpoint, Link } from '../api/skupper/index.ts';
import type { Learned, ProxyConfig, RouterState, SiblingConfig, SiteEndpoint, SiteKey, TlsBundle } from '../router/contract.ts';
import type { Platform } from '../site/capabilities.ts';
import type { AttachedServers, SelectablePod, ServiceMaterial } from '../site/material.ts';
import type { AnyStatus } from '../site/observe/observe.ts';
import type { SitePlan } from '../site/plan/plan.ts';
import type { ResourceProblem } from '../site/problem.ts';
import type { Reach } from '../site/site-endpoints.ts';
import type { ResourceKey, SiteResources } from '../site/resources.ts';
import type { AnchorStore } from '../trust/anchor.ts';
import type { AnchoredLedger, Bundles, BundleSet, GrantStore, Ledger, PendingKeys } from '../trust/stores.ts';
import type { IssuedCertificate, Revocations } from '../identity/issued.ts';
import type { IssuedBundle } from '../identity/tls-bundle.ts';
import type { StaleStatus } from './stale-status.ts';

export interface SitePlatform extends Platform {
  readonly namespace: string;
  readonly source: Source;
  readonly stores: RouterStores;
  readonly signing: Signing;
  readonly statuses: StatusSink;
  /** How other sites reach this one, as far as it is known now. May throw: the report or the pass is then repeated. */
  reach(): Reach;
  readonly leadership: Leadership;
  readonly siblings: Siblings;
  /** From now on the router refuses these, and nothing that they end is open: for whoever has revoked one, and waits for that. */
  confirmRevocations(revoked: Revocations): Promise<void>;
  /** What the statuses say once nothing runs the site: how to start it is the platform's to say. */
  readonly stopped: StaleStatus;
}

export interface Source {
  /** As it stands now; the same object as before where nothing has changed, which costs little. */
  read(): Promise<Snapshot>;
  /**
   * Calls back soon after anything changed that a pass takes in (what `read` gives, the stores, the siblings), and every few seconds
   * in any case: what depends on the time happens by that.
   */
  follow(onChange: () => void): Disposable;
  /** Where somebody puts a TLS bundle of that name, for messages. */
  bundleLocation(name: string): string;
}

export interface Snapshot {
  readonly resources: SiteResources;
  /** What is wrong with what was written, also with resources that are not there for it. Each message says where it stands. */
  readonly problems: readonly ResourceProblem[];
  /** Why the Site that somebody wrote is not there; undefined where it is, or nobody wrote one. */
  readonly unreadSite?: string;
  /** Those of the namespace; undefined where the platform has none. */
  readonly pods?: readonly SelectablePod[];
  /** As `Material.services`. */
  readonly services?: ServiceMaterial;
  readonly attachedServers?: readonly AttachedServers[];
  /** Where other sites reach this one, as whoever makes that knows; undefined where nobody does. */
  readonly reachedAt?: readonly SiteEndpoint[];
  /** By the names of Links, what earlier processes were told of their sites: see `rememberedOf`. */
  readonly remembered?: ReadonlyMap<string, Learned>;
  /** By the name that a Link has for one. */
  readonly proxies?: ReadonlyMap<string, ProxyConfig>;
  /** As `Material.awaitedSecrets`. */
  readonly awaitedSecrets?: ReadonlySet<string>;
  /** The user's own: never replaced. */
  readonly bundles: BundleSet;
  /** TLS bundles that came along with resources: the site may renew them. */
  readonly attached: readonly TlsBundle[];
  /** Something that was written cannot be read, and nobody knows what: what is missing may be wanted. */
  readonly incomplete: boolean;
  /** Something is being written at this moment: look again soon. */
  readonly restless: boolean;
}

/** Who signs for the site. */
export type Signing =
  /** This engine, where it leads. */
  | { readonly kind: 'here'; readonly stores: Stores; readonly offlineLinks: OfflineLinks }
  /** A process that does not face other sites. It makes certificates, redeems tokens and keeps the record. */
  | {
      readonly kind: 'elsewhere';
      revocations(): Promise<Revocations>;
      /** What the site's own authority is verified by, PEM; undefined while there is none. */
      siteAuthority(): Promise<string | undefined>;
      /** As `RouterHooks.renew`. */
      renew(peer: { readonly certificate: Buffer; readonly siteId: string }, request: string): Promise<IssuedCertificate>;
    };

/** What every router of a site needs. */
export interface RouterStores {
  /**
   * Who the site is.
   * @param mayCreate only the leader makes the key, and only where there has never been one
   * @returns undefined where there is none and none may be made
   * @throws an error that says how to mend a damaged key: it is never replaced, since a new key is a new site to all others
   */
  identity(mayCreate: boolean): Promise<Identity | undefined>;
  /** What the site has issued, or got for a token. */
  readonly bundles: Bundles;
  readonly pendingKeys: PendingKeys;
  readonly renewalRequests: RenewalRequests;
}

/** What an engine needs besides that signs for its site. */
export interface Stores extends RouterStores {
  /** Where the site's own certificate authority is, under the name `ca`. */
  readonly siteAuthority: Bundles;
  /** Where other authorities may be, the place for the user's first: the first that has one of a name counts. */
  readonly issuers: readonly [Bundles, ...Bundles[]];
  readonly tokens: TokenStore;
  /** What the site remembers of its other state. */
  readonly anchor: AnchorStore;
  ledger(): Promise<AnchoredLedger>;
  /** For the leader alone. @throws TrustError `state-busy` where another process has it */
  grants(ledger: Ledger): Promise<GrantStore>;
}

export interface Identity {
  readonly id: string;
  readonly key: SiteKey;
}

export interface TokenStore {
  /** Marks of redeemed tokens, by name. A mark differs from that of another token of the same name. */
  redeemed(): Promise<ReadonlyMap<string, string>>;
  setRedeemed(redeemed: ReadonlyMap<string, string>): Promise<void>;
  /** Makes the Link, or replaces it: it is among the resources from then on. */
  putLink(link: Link): Promise<void>;
  /** Takes back what `putLink` made. */
  removeLink(name: string): Promise<void>;
  /** Names of the bundles that were written for tokens, and by nothing else. */
  madeBundles(): Promise<ReadonlySet<string>>;
  /** Removes one of `madeBundles`; without effect on any other. */
  removeBundle(name: string): Promise<void>;
}

/** "Renew the certificate of this link now", and what came of it. Links by their own names. */
export interface RenewalRequests {
  open(): Promise<ReadonlySet<string>>;
  answer(link: string, answer: RenewalAnswer): Promise<void>;
}

export type RenewalAnswer =
  /** Serial numbers in upper-case hex; `until` in RFC 3339. */
  { readonly serial: string; readonly before: string; readonly until: string } | { readonly refused: string };

/** Only the leader writes any. */
export interface StatusSink {
  /** All statuses that are to stand: others go. Returns at once and tries again by itself; the last call wins. */
  write(report: Report): void;
  /** Puts it in the place of every status that stands, whoever wrote it: none may go on saying Ready. */
  markStale(stale: StaleStatus): Promise<void>;
  /** Resolves once all that was asked for is written, or has failed; nothing is written by `write` from then on. */
  close(): Promise<void>;
}

export interface Report {
  readonly resources: SiteResources;
  readonly statuses: ReadonlyMap<ResourceKey, AnyStatus>;
  /** As the snapshot had them: a resource that cannot be read has a status all the same. */
  readonly problems: readonly ResourceProblem[];
  readonly plan: SitePlan;
  /** Undefined while no router runs. */
  readonly router?: RouterState;
}

/** Of the processes that run a site's routers one leads: it writes statuses and looks after trust. */
export interface Leadership {
  /** Whether this process leads now; it does from then on where nobody else does. It may lose it again. */
  lead(): boolean | Promise<boolean>;
  resign(): void;
}

export interface Siblings {
  /** @param expected whether the site is to have several. @returns undefined where this router needs to know of none */
  config(expected: boolean): Promise<SiblingConfig | undefined>;
  run(): Promise<boolean>;
  /** Those that serve clients, and are not about to end, by name: this router takes none off them before it reaches what they do. */
  serving(): readonly string[];
}

/** Links that other sites can use without a token. Whoever can read one can link, so they are for the site's owner alone. */
export interface OfflineLinks {
  /** What it holds: nothing yet, where it was only asked for. Undefined where nobody has asked for it. */
  find(name: string, host: string): Promise<TlsBundle | undefined>;
  put(link: OfflineLink): Promise<void>;
  /** Takes away those of other names. */
  keepOnly(names: readonly string[]): Promise<void>;
}

/** A link that another site can use without a token. */
export interface OfflineLink {
  readonly name: string;
  readonly host: string;
  readonly endpoints: readonly Endpoint[];
  readonly bundle: IssuedBundle;
}
