/**
 * Interfaces between the site engine and its platform. The engine decides what a site does; the platform knows where resources, keys and
 * statuses are stored. Nothing here is a path or a cluster object: names and sentences for people come from the platform as text.
 *
 * Every rejection is transient: the engine reports it and retries at the next reconcile.
 */
import type { Endpoint, Link, Site } from '../api/skupper/index.ts';
import type { Learned, ProxyConfig, RouterState, SiblingConfig, SiteEndpoint, SiteKey, TlsBundle } from '../router/contract.ts';
import type { Platform } from '../site/capabilities.ts';
import type { AttachedServers, SelectablePod, ServiceMaterial } from '../site/material.ts';
import type { NetworkRouter } from '../site/networks.ts';
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
  /** Container network of this router; undefined for routers on the network of a machine or a pod. */
  readonly network?: string;
  /** Number of routers that a supervisor runs for the Site on this machine, this one included. Undefined without a supervisor. */
  readonly routers?: (site: Site | undefined) => number;
  readonly source: Source;
  readonly stores: RouterStores;
  readonly signing: Signing;
  readonly statuses: StatusSink;
  /** How other sites reach this one, as far as known now. If it throws, the report or the reconcile is repeated. */
  reach(): Reach;
  readonly leadership: Leadership;
  readonly siblings: Siblings;
  /**
   * Called once the router refuses these certificates and sites and has closed their connections. Unblocks a command that waits for a
   * revocation.
   */
  confirmRevocations(revoked: Revocations): Promise<void>;
  /** Statuses while no process runs the site. The platform words how to start it. */
  readonly stopped: StaleStatus;
}

export interface Source {
  /** Returns the present state. If nothing has changed, returns the same object as before at little cost. */
  read(): Promise<Snapshot>;
  /**
   * Calls back soon after a change of the input of a reconcile (the result of `read`, the stores, the replicas). Also calls back every few
   * seconds, for everything that depends on the time.
   */
  follow(onChange: () => void): Disposable;
  /** Location where a user puts a TLS bundle of that name, for messages. */
  bundleLocation(name: string): string;
}

export interface Snapshot {
  readonly resources: SiteResources;
  /** Problems with the written resources, including those too damaged to appear in `resources`. Each message names the location. */
  readonly problems: readonly ResourceProblem[];
  /** Reason why a written Site is not in `resources`; undefined if it is, or if none was written. */
  readonly unreadSite?: string;
  /** Pods of the namespace; undefined if the platform has none. */
  readonly pods?: readonly SelectablePod[];
  /** See `Material.services`. */
  readonly services?: ServiceMaterial;
  readonly attachedServers?: readonly AttachedServers[];
  /** Endpoints at which other sites reach this one, as reported by their creator; undefined if unknown. */
  readonly reachedAt?: readonly SiteEndpoint[];
  /** Details of remote sites that earlier processes learned, by Link name. See `rememberedOf`. */
  readonly remembered?: ReadonlyMap<string, Learned>;
  /** Proxies, by the name that Links refer to. */
  readonly proxies?: ReadonlyMap<string, ProxyConfig>;
  /** See `Material.awaitedSecrets`. */
  readonly awaitedSecrets?: ReadonlySet<string>;
  /** The user's own bundles. Never replaced. */
  readonly bundles: BundleSet;
  /** TLS bundles attached to resources. The site may renew them. */
  readonly attached: readonly TlsBundle[];
  /** Some input is unreadable and its resource unknown, so a missing resource may still be desired. */
  readonly incomplete: boolean;
  /** A write is in progress; read again soon. */
  readonly restless: boolean;
}

/** Place at which certificates of the site are signed. */
export type Signing =
  /** In this engine, while it is the leader. */
  | { readonly kind: 'here'; readonly stores: Stores; readonly offlineLinks: OfflineLinks; readonly published: PublishedBundles }
  /** In a process without exposure to other sites, which issues certificates, redeems tokens and keeps the ledger. */
  | {
      readonly kind: 'elsewhere';
      revocations(): Promise<Revocations>;
      /** PEM certificate that verifies the site's own CA; undefined if it does not exist yet. */
      siteAuthority(): Promise<string | undefined>;
      /** See `RouterHooks.renew`. */
      renew(peer: { readonly certificate: Buffer; readonly siteId: string }, request: string): Promise<IssuedCertificate>;
    };

/** Stores that every router of a site needs. */
export interface RouterStores {
  /**
   * Returns the identity of the site.
   * @param mayCreate only the leader creates the key, and only if there has never been one
   * @returns undefined if there is no key and none may be created
   * @throws an error that says how to repair a damaged key. It is never replaced: with a new key, all others see a new site
   */
  identity(mayCreate: boolean): Promise<Identity | undefined>;
  /** Bundles that the site has issued, or has received by redeeming tokens. */
  readonly bundles: Bundles;
  readonly pendingKeys: PendingKeys;
  readonly renewalRequests: RenewalRequests;
}

/** Additional stores for an engine that signs for its site. */
export interface Stores extends RouterStores {
  /** Store of the site's own CA, under the name `ca`. */
  readonly siteAuthority: Bundles;
  /** Stores of the user's CAs. The first store that has a name wins. Others than the first hold bundles for any use. */
  readonly userIssuers: readonly [Bundles, ...Bundles[]];
  /** CAs that the site has created because a resource names them. */
  readonly createdIssuers: Bundles;
  readonly generated: GeneratedBundles;
  readonly tokens: TokenStore;
  /** Record that detects the loss of the site's other state. */
  readonly anchor: AnchorStore;
  ledger(): Promise<AnchoredLedger>;
  /** For the leader only. @throws TrustError `state-busy` if another process has it open */
  grants(ledger: Ledger): Promise<GrantStore>;
}

export interface Identity {
  readonly id: string;
  readonly key: SiteKey;
}

export interface TokenStore {
  /** Marks of redeemed tokens, by name. Two tokens with the same name have different marks. */
  redeemed(): Promise<ReadonlyMap<string, string>>;
  setRedeemed(redeemed: ReadonlyMap<string, string>): Promise<void>;
  /** Creates or replaces the Link, which is part of the resources from then on. */
  putLink(link: Link): Promise<void>;
  /** Undoes `putLink`. */
  removeLink(name: string): Promise<void>;
  /** Names of bundles that were written for tokens only. */
  createdBundles(): Promise<ReadonlySet<string>>;
  /** Removes one of `createdBundles`. No-op for any other bundle. */
  removeBundle(name: string): Promise<void>;
}

/** Names of bundles that the site has issued because a resource names them. Other bundles have no other copy. */
export interface GeneratedBundles {
  names(): Promise<ReadonlySet<string>>;
  /** Called before a new bundle is stored, so that none is without a name here. */
  setNames(names: ReadonlySet<string>): Promise<void>;
  /** Removes the bundle. No-op if absent. */
  remove(name: string): Promise<void>;
}

/** Requests to renew the certificate of a link now, and their results. Links have the names of their resources. */
export interface RenewalRequests {
  open(): Promise<ReadonlySet<string>>;
  answer(link: string, answer: RenewalAnswer): Promise<void>;
}

export type RenewalAnswer =
  /** Serial numbers are upper-case hex; `until` is RFC 3339. */
  { readonly serial: string; readonly before: string; readonly until: string } | { readonly refused: string };

/** Only the leader writes statuses. */
export interface StatusSink {
  /** Sets all desired statuses and removes others. Returns at once and retries by itself; the last call wins. */
  write(report: Report): void;
  /** Replaces every existing status, so that none still reports Ready. The author of a status does not matter. */
  markStale(stale: StaleStatus): Promise<void>;
  /** Resolves once all pending writes have succeeded or failed. `write` has no effect from then on. */
  close(): Promise<void>;
}

export interface Report {
  readonly resources: SiteResources;
  readonly statuses: ReadonlyMap<ResourceKey, AnyStatus>;
  /** Problems from the snapshot. An unreadable resource has a status as well. */
  readonly problems: readonly ResourceProblem[];
  readonly plan: SitePlan;
  /** Undefined if no router runs. */
  readonly router?: RouterState;
}

/** Leader election among the processes that run a site's routers. The leader writes statuses and reconciles trust. */
export interface Leadership {
  /** Returns whether this process leads now. Takes the lead if no other process has it. The lead may be lost later. */
  lead(): boolean | Promise<boolean>;
  resign(): void;
}

export interface Siblings {
  /** @param expected whether the site is to have several routers @returns undefined if this router does not need to know others */
  config(expected: boolean): Promise<SiblingConfig | undefined>;
  /** Whether another router runs that can lead. */
  run(): Promise<boolean>;
  /**
   * Names of replicas that serve clients and are not shutting down. This router becomes ready only when it reaches the same sites as they
   * do.
   */
  serving(): readonly string[];
  /** Running routers of container networks, as of the last call of `config`. */
  networkRouters?(): readonly NetworkRouter[];
}

/** Copies of TLS bundles in use, for programs and scripts of the same user. */
export interface PublishedBundles {
  /** Writes copies that differ. */
  write(bundles: readonly TlsBundle[]): Promise<void>;
  /** Removes all others that the site has written. */
  keepOnly(names: readonly string[]): Promise<void>;
}

/** Links that other sites can use without a token. Read access is enough to link, so they are for the site's owner only. */
export interface OfflineLinks {
  put(link: OfflineLink): Promise<void>;
  /** Removes all others. */
  keepOnly(links: readonly Pick<OfflineLink, 'name' | 'host'>[]): Promise<void>;
}

/** Link that another site can use without a token. */
export interface OfflineLink {
  readonly name: string;
  readonly host: string;
  readonly endpoints: readonly Endpoint[];
  readonly bundle: IssuedBundle;
}
