/**
 * What a router is told and what it tells: plain data, fed by a platform, which knows files or a cluster. The router knows
 * neither. A config is whole: what it no longer names is drained and closed, what is equal to before is left alone.
 */
import type { Buffer } from 'node:buffer';
import type { Problem } from '../errors/problem.ts';
import type { IssuedCertificate, Revocations } from '../identity/issued.ts';
import type { SiteKey } from '../identity/site-key.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';

export type { IssuedCertificate, Problem, Revocations, SiteKey, TlsBundle };

/** Who a site is to all others. `id` is made from the site's public key (see `docs/protocol.md`), so nobody else can bear it. */
export interface SiteIdentity {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
}

export type Observer = 'auto' | 'none' | 'http1' | 'http2';

export interface RouterConfig {
  readonly site: SiteIdentity;
  readonly siteKey: SiteKey;
  /** Unique among the routers of the site: `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`. */
  readonly router: string;
  /** An edge site's router carries nothing between other sites. */
  readonly edge: boolean;
  readonly listeners: readonly ListenerConfig[];
  readonly connectors: readonly ConnectorConfig[];
  readonly links: readonly LinkConfig[];
  readonly accesses: readonly AccessConfig[];
  readonly revoked: Revocations;
  readonly siblings?: SiblingConfig;
  /** Left out: `DEFAULT_LIVENESS`. */
  readonly liveness?: LivenessConfig;
  /** Where other sites reach this one, as their links are told. Left out: they keep to what they have. */
  readonly reachedAt?: readonly SiteEndpoint[];
}

/** How long the other end of a link may be silent, in milliseconds. Each round trip of a slow path adds to it. */
export interface LivenessConfig {
  /** Then new connections use other paths. */
  readonly suspectAfter?: number;
  /** Then the link is given up, and the connections on it end. */
  readonly deadAfter?: number;
}

/**
 * TCP doubles the time between two attempts: after a pause of 10 s it may be silent for another 10 s, and then a round trip passes.
 * See ADR 23.
 */
export const DEFAULT_LIVENESS: Required<LivenessConfig> = { suspectAfter: 2_000, deadAfter: 30_000 };

/** Binds a local host and port to routing keys. */
export interface ListenerConfig {
  /** Unique among the listeners, and stable: `Listener/backend`. */
  readonly name: string;
  /** A name or an address; a name is resolved to addresses of this machine. Left out: all addresses. */
  readonly host?: string;
  readonly port: number;
  readonly destination: Destination;
  readonly observer: Observer;
  /** With `ca`, clients must show a certificate of it. */
  readonly tls?: TlsBundle;
}

export type Destination =
  | { readonly kind: 'key'; readonly routingKey: string }
  /** The first key that can be reached takes all. */
  | { readonly kind: 'priority'; readonly routingKeys: readonly string[] }
  /** Keys that can be reached share by weight (0: only while no other can be reached). */
  | { readonly kind: 'weighted'; readonly routingKeys: Readonly<Record<string, number>> };

/** Lets a routing key reach a server. */
export interface ConnectorConfig {
  readonly name: string;
  readonly routingKey: string;
  /** Hosts of equal rank: one where a host is given, one a pod where pods are selected. */
  readonly hosts: readonly string[];
  readonly port: number;
  /** Only connections of clients show whether the servers work. */
  readonly probe?: 'none';
  /** `ca` is what the server's certificate must come from; `cert` and `key` are shown to it. */
  readonly tls?: { readonly bundle: TlsBundle; readonly verifyHostname: boolean };
}

/** A link that this site opens. */
export interface LinkConfig {
  readonly name: string;
  /** In order of preference; the next is tried where one cannot be reached. */
  readonly endpoints: readonly LinkEndpoint[];
  /** All of them are of this one, of several by which the other site is reached. */
  readonly group?: string;
  /** What the site at its other end said of itself to an earlier process; it holds until that says something else. */
  readonly remembered?: Learned;
  /** From 1. */
  readonly cost: number;
  readonly tls: TlsBundle;
  /** With how many bundles before the present one open connections may have begun; left out: with any, while its certificate lasts. */
  readonly priorRevisions?: number;
  /** Through which all of its endpoints are reached; it resolves their names. */
  readonly proxy?: ProxyConfig;
}

export interface LinkEndpoint {
  readonly host: string;
  readonly port: number;
}

/** Endpoints of one group lead to the same router, or set of routers. */
export interface GroupEndpoint extends LinkEndpoint {
  readonly group?: string;
}

/** Where a site says that it is reached. */
export interface Learned {
  readonly site: string;
  readonly endpoints: readonly GroupEndpoint[];
}

export interface SiteEndpoint extends GroupEndpoint {
  readonly role: AccessConfig['role'];
}

/** An HTTP proxy that opens tunnels (CONNECT, RFC 9110 section 9.3.6), and asks for Basic credentials where there are any here. */
export interface ProxyConfig extends LinkEndpoint {
  readonly username?: string;
  readonly password?: string;
}

/** Where other sites may open links to this one. */
export interface AccessConfig {
  readonly name: string;
  readonly host?: string;
  readonly port: number;
  /** Server certificate and the authority that signed the peers'. */
  readonly tls: TlsBundle;
  /** As that of a link. */
  readonly priorRevisions?: number;
  /** Only sites that say that they are edge sites come in over `edge`, and nothing passes through them that way, whatever they say then. */
  readonly role: 'inter-router' | 'edge';
  /** Peers whose certificate does not say what it is for are let in, if it is not said. */
  readonly unmarked?: 'refused';
}

/** Routers of one site link to each other. */
export type SiblingConfig =
  /** On one machine: over Unix sockets, which only the site's user can open. Their ports are shared. */
  | { readonly kind: 'unix'; readonly socket: string; readonly others: readonly string[] }
  /**
   * Each at an address of its own: over mutual TLS, by an authority of the site alone. `router` of each is its name within the site; who
   * answers at its address must prove the site's key, and that name.
   */
  | { readonly kind: 'tls'; readonly port: number; readonly tls: TlsBundle; readonly others: readonly SiblingAddress[] };

export interface SiblingAddress extends LinkEndpoint {
  readonly router: string;
}

export interface RouterState {
  readonly listeners: Readonly<Record<string, ListenerState>>;
  readonly connectors: Readonly<Record<string, ConnectorState>>;
  readonly links: Readonly<Record<string, LinkState>>;
  /** How often these have come up, all together: of one that was down for a moment nothing else tells. */
  readonly linksOpened?: number;
  readonly accesses: Readonly<Record<string, AccessState>>;
  /** Links that other sites opened to us. */
  readonly incoming: readonly PeerState[];
  /** The last link of each site that opened one to us and has none now: the most recent last, a bounded number. */
  readonly endedIncoming?: readonly EndedPeerState[];
  /** What the other routers of the site say of the links that they open, by router and link. Of one that is being opened for the first time they say nothing. */
  readonly siblingLinks?: Readonly<Record<string, Readonly<Record<string, SiblingLinkState>>>>;
  /** Where this router meets the others of its site: why they cannot link to it, and the links that it opens to them, by router. */
  readonly siblings?: { readonly problem?: Problem; readonly links: Readonly<Record<string, LinkState>> };
  /** All routers that can be reached, this one first: as of the moment in which it is read. To be read at once, and not kept. */
  readonly network: readonly RouterRecord[];
  /** Names that the resolver does not answer for, and when their addresses that are in use were of (milliseconds since 1970). */
  readonly staleNames?: Readonly<Record<string, number>>;
}

export interface ListenerState {
  readonly listening: boolean;
  /** The keys of its destination that have a connector that can be reached. */
  readonly reachableKeys: readonly string[];
  /** Ids of the sites of all its destinations, where all of these refused at the last attempt. */
  readonly refusedBy?: readonly string[];
  /** Sites that had connectors of its keys, while no connector can be reached: at most 8. */
  readonly lostSites?: readonly LostSite[];
  readonly problem?: Problem;
}

/** A site whose connectors of a routing key can no longer be reached. */
export interface LostSite {
  readonly routingKey: string;
  readonly siteId: string;
  readonly siteName: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** A sentence. */
  readonly reason: string;
}

export interface ConnectorState {
  /** Some listener in the network has its key. */
  readonly matched: boolean;
  /** Why it cannot run as it is configured. */
  readonly problem?: Problem;
  /** Left out where at least one server took the last connection, or none may be probed. */
  readonly servers?: ServerHealth;
}

/** `worked`: an earlier attempt succeeded. */
export type ServerHealth = { readonly kind: 'untried' } | { readonly kind: 'failing'; readonly problem: Problem; readonly worked: boolean };

export interface LinkState {
  readonly operational: boolean;
  readonly remoteSiteId?: string;
  readonly remoteSiteName?: string;
  /** `host:port` in use. */
  readonly endpoint?: string;
  /** Where the other site says that it is reached. */
  readonly told?: readonly LinkEndpoint[];
  /** When the last bytes arrived (milliseconds since 1970), while the link is up and silent: new connections use other paths. */
  readonly silentSince?: number;
  readonly problem?: Problem;
}

export interface SiblingLinkState extends Pick<LinkState, 'operational' | 'remoteSiteId' | 'remoteSiteName'> {
  /** A sentence. */
  readonly problem?: string;
}

export interface AccessState {
  readonly listening: boolean;
  /** The real port, where the config asks for any (0). */
  readonly port?: number;
  readonly problem?: Problem;
}

export interface PeerState {
  readonly siteId: string;
  readonly siteName: string;
  /** Of the certificate that the peer showed. */
  readonly serial: string;
  readonly address: string;
  readonly cost?: number;
  /** When the link came up, milliseconds since 1970. */
  readonly since?: number;
  /** As `LinkState.silentSince`. */
  readonly silentSince?: number;
}

/** A link that another site had opened to us. */
export interface EndedPeerState {
  readonly siteId: string;
  readonly siteName: string;
  readonly address: string;
  readonly cost: number;
  /** From when to when it was up, milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  /** Why it ended, a sentence or a part of one. */
  readonly reason: string;
}

/** What a router says of itself to all others, as far as a status shows it. */
export interface RouterRecord {
  readonly router: string;
  readonly site: SiteIdentity;
  readonly edge: boolean;
  /** No fewer than there are links and keys, and known without reading them. */
  readonly listed?: number;
  readonly links: readonly { readonly name: string; readonly siteId: string; readonly siteName: string; readonly cost: number }[];
  readonly keys: readonly { readonly routingKey: string; readonly connectors: number; readonly listeners: number }[];
}

/** What the router asks of whoever runs it. */
export interface RouterHooks {
  /**
   * A peer with a valid certificate asks over its link for the next one.
   * @param peer the certificate that it showed, DER
   * @param request its certificate signing request (PKCS #10), PEM
   * @returns the new certificate and the authority's, PEM
   * @throws an error whose message the peer is told, without its causes
   */
  renew?(peer: { readonly certificate: Buffer; readonly siteId: string }, request: string): Promise<IssuedCertificate>;
}

export interface Router extends AsyncDisposable {
  readonly state: RouterState;
  /** Takes a new config at once. What is wrong with a part becomes that part's problem; nothing is thrown for it. */
  apply(config: RouterConfig): void;
  /** Called after each change of `state`, never twice in one turn of the event loop. @returns how to end that */
  onChange(listener: () => void): () => void;
  /** Asks the other end of a link for a new certificate. */
  renew(link: string, request: string): Promise<IssuedCertificate>;
  /** It will be drained soon: other sites are told to link elsewhere, and let in here no more. All that is there goes on. */
  leave(): void;
  /** Stops accepting, lets connections finish for so many milliseconds at most, then closes. */
  drain(deadline: number): Promise<void>;
}
