/**
 * Configuration and state of a router: plain data, supplied by a platform that knows files or a cluster. The router knows neither. A config
 * is complete: what it no longer names is drained and closed, and unchanged parts are left alone.
 */
import type { Buffer } from 'node:buffer';
import type { Problem } from '../errors/problem.ts';
import type { IssuedCertificate, Revocations } from '../identity/issued.ts';
import type { SiteKey } from '../identity/site-key.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';
import type { RouterRecord, SiteIdentity } from '../routing/contract.ts';
import type { Percentiles } from '../telemetry/latency-steps.ts';
import type {
  ConnectionRecord,
  RecordPage,
  RecordQuery,
  RecordsView,
  RecordState,
  RequestPage,
  RequestQuery,
  RequestRecord,
} from './records/contract.ts';

export type { IssuedCertificate, Problem, Revocations, RouterRecord, SiteIdentity, SiteKey, TlsBundle };
export type { ConnectionRecord, RecordPage, RecordQuery, RecordsView, RecordState, RequestPage, RequestQuery, RequestRecord };

export type Observer = 'auto' | 'none' | 'http1' | 'http2';

export interface RouterConfig {
  readonly site: SiteIdentity;
  readonly siteKey: SiteKey;
  /** Unique among the routers of the site: `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`. */
  readonly router: string;
  /**
   * Container network of this router; undefined for routers on the network of the machine or of a pod. A router of a network reports the
   * states of its listeners and connectors to the other routers of its site, which have others.
   */
  readonly network?: string;
  /** Whether this is an edge site, whose router carries nothing between other sites. */
  readonly edge: boolean;
  readonly listeners: readonly ListenerConfig[];
  readonly connectors: readonly ConnectorConfig[];
  readonly links: readonly LinkConfig[];
  readonly accesses: readonly AccessConfig[];
  readonly revoked: Revocations;
  readonly siblings?: SiblingConfig;
  /** Number of routers that share the memory of the machine or control group equally. Default: 1. */
  readonly memoryParts?: number;
  /** Default: `DEFAULT_LIVENESS`. */
  readonly liveness?: LivenessConfig;
  /** Endpoints of this site, announced over the links that other sites open. Without it, they keep the endpoints that they have. */
  readonly reachedAt?: readonly SiteEndpoint[];
  /** Sites that may read the figures of this router. Default: `site`. */
  readonly observe?: FigureSharing;
}

/** `site`: routers of the own site. `network`: all sites. */
export type FigureSharing = 'site' | 'network' | 'none';

/** Time that the other end of a link may be silent, in milliseconds. The round-trip time of a slow path is added. */
export interface LivenessConfig {
  /** Silence after which new connections use other paths. */
  readonly suspectAfter?: number;
  /** Silence after which the link and its connections are closed. */
  readonly deadAfter?: number;
}

/**
 * TCP doubles the time between two retransmissions: after a pause of 10 s it may be silent for another 10 s and a round trip. See ADR 23.
 */
export const DEFAULT_LIVENESS: Required<LivenessConfig> = { suspectAfter: 2_000, deadAfter: 30_000 };

/** Binds a local host and port to routing keys. */
export interface ListenerConfig {
  /** Unique among the listeners, and stable, such as `Listener/backend`. */
  readonly name: string;
  /** A name, which is resolved to addresses of this machine, or an address. Default: all addresses. */
  readonly host?: string;
  readonly port: number;
  readonly destination: Destination;
  readonly observer: Observer;
  /** Whether records of requests have their paths. */
  readonly requestPaths?: true;
  /** With `ca`, clients must present a certificate signed by it. */
  readonly tls?: TlsBundle;
}

export type Destination =
  | { readonly kind: 'key'; readonly routingKey: string }
  /** The first reachable key takes all connections. */
  | { readonly kind: 'priority'; readonly routingKeys: readonly string[] }
  /** Reachable keys share connections by weight. A key of weight 0 is used only while no other is reachable. */
  | { readonly kind: 'weighted'; readonly routingKeys: Readonly<Record<string, number>> };

/** Binds a routing key to servers. */
export interface ConnectorConfig {
  readonly name: string;
  readonly routingKey: string;
  /** Hosts of equal rank: one configured host, or one for each selected pod. */
  readonly hosts: readonly string[];
  readonly port: number;
  /** Disables probes: only client connections show whether the servers work. */
  readonly probe?: 'none';
  /** `ca` verifies the server's certificate; `cert` and `key` are presented to it. */
  readonly tls?: { readonly bundle: TlsBundle; readonly verifyHostname: boolean };
}

/** A link that this site opens. */
export interface LinkConfig {
  readonly name: string;
  /** In order of preference; the next one is tried if an endpoint is unreachable. */
  readonly endpoints: readonly LinkEndpoint[];
  /** Group of all these endpoints, if the other site is reached by several groups. */
  readonly group?: string;
  /** Endpoints that the other site announced to an earlier process; valid until it announces others. */
  readonly remembered?: Learned;
  /** At least 1. */
  readonly cost: number;
  readonly tls: TlsBundle;
  /** Number of previous bundles whose connections stay open. Without it, all stay open until their certificate expires. */
  readonly priorRevisions?: number;
  /** Proxy to all of its endpoints; it resolves their names. */
  readonly proxy?: ProxyConfig;
}

export interface LinkEndpoint {
  readonly host: string;
  readonly port: number;
}

/** Endpoints of a group lead to the same router or set of routers. */
export interface GroupEndpoint extends LinkEndpoint {
  readonly group?: string;
}

/** Endpoints that a site announced for itself. */
export interface Learned {
  readonly site: string;
  readonly endpoints: readonly GroupEndpoint[];
}

export interface SiteEndpoint extends GroupEndpoint {
  readonly role: AccessConfig['role'];
}

/** An HTTP proxy that opens tunnels (CONNECT, RFC 9110 section 9.3.6). Basic credentials are sent if there are any. */
export interface ProxyConfig extends LinkEndpoint {
  readonly username?: string;
  readonly password?: string;
}

/** An address at which other sites may open links to this one. */
export interface AccessConfig {
  readonly name: string;
  readonly host?: string;
  readonly port: number;
  /** Server certificate, and the authority that signed the peers' certificates. */
  readonly tls: TlsBundle;
  /** As for a link. */
  readonly priorRevisions?: number;
  /**
   * Only sites that declare themselves edge sites are admitted over `edge`. They carry nothing between others that way, even if they
   * declare something else later.
   */
  readonly role: 'inter-router' | 'edge';
  /** Refuses peers whose certificate does not state its purpose; they are admitted by default. */
  readonly unmarked?: 'refused';
}

/** How the routers of a site link to each other. */
export type SiblingConfig =
  /**
   * On one machine: over Unix sockets that only the site's user can open. `sharesPorts`: whether others have the same ports; false if each
   * of them is in another network namespace.
   */
  | { readonly kind: 'unix'; readonly socket: string; readonly others: readonly string[]; readonly sharesPorts: boolean }
  /**
   * Each router at its own address: over mutual TLS, with an authority for this site only. `router` is its name within the site. The peer
   * at an address must prove the site's key and that name.
   */
  | { readonly kind: 'tls'; readonly port: number; readonly tls: TlsBundle; readonly others: readonly SiblingAddress[] };

export interface SiblingAddress extends LinkEndpoint {
  readonly router: string;
}

export interface RouterState {
  readonly listeners: Readonly<Record<string, ListenerState>>;
  readonly connectors: Readonly<Record<string, ConnectorState>>;
  readonly links: Readonly<Record<string, LinkState>>;
  /** Number of times that any of these came up: a brief interruption is not visible otherwise. */
  readonly linksOpened?: number;
  readonly accesses: Readonly<Record<string, AccessState>>;
  /** Links that other sites opened to this one. */
  readonly incoming: readonly PeerState[];
  /** Last link of each site that had opened one and has none now: most recent last, a bounded number. */
  readonly endedIncoming?: readonly EndedPeerState[];
  /**
   * State of the links that the other routers of the site open, by router and link. A link that is being opened for the first time is
   * absent.
   */
  readonly siblingLinks?: Readonly<Record<string, Readonly<Record<string, SiblingLinkState>>>>;
  /** States of the listeners and connectors of routers with a `network`, by router and part; empty for other routers of the site. */
  readonly siblingParts?: Readonly<Record<string, Readonly<Record<string, SiblingPartState>>>>;
  /** Sibling links of this router: why other routers of the site cannot link to it, and the links that it opens to them, by router. */
  readonly siblings?: { readonly problem?: Problem; readonly links: Readonly<Record<string, LinkState>> };
  /** All reachable routers, this one first, computed when read. Read it at once and do not keep it. */
  readonly network: readonly RouterRecord[];
  /** Names that the resolver fails to resolve, with the time of the addresses in use, in milliseconds since 1970. */
  readonly staleNames?: Readonly<Record<string, number>>;
}

export interface ListenerState {
  readonly listening: boolean;
  /** Keys of its destination with a reachable connector. */
  readonly reachableKeys: readonly string[];
  /** IDs of the sites of all its destinations, if all of them refused the last attempt. */
  readonly refusedBy?: readonly string[];
  /** Sites that had connectors of its keys, while no connector is reachable; at most 8. */
  readonly lostSites?: readonly LostSite[];
  readonly problem?: Problem;
}

/** A site whose connectors of a routing key are no longer reachable. */
export interface LostSite {
  readonly routingKey: string;
  readonly siteId: string;
  readonly siteName: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Whole sentence. */
  readonly reason: string;
}

export interface ConnectorState {
  /** Whether a listener in the network has its key. */
  readonly matched: boolean;
  /** Why it cannot run as configured. */
  readonly problem?: Problem;
  /** Absent while at least one server accepted its last connection, or while no server may be probed. */
  readonly servers?: ServerHealth;
}

/** `worked` is true if an earlier attempt succeeded. */
export type ServerHealth = { readonly kind: 'untried' } | { readonly kind: 'failing'; readonly problem: Problem; readonly worked: boolean };

/** Figures of a link that is up. */
export interface LinkFigures {
  /** Time when it came up, in milliseconds since 1970. */
  readonly since?: number;
  /** Expiry of the certificate that the other end presented, in milliseconds since 1970. */
  readonly certificateExpires?: number;
  /** Milliseconds at the last ping. */
  readonly roundTrip?: number;
  /** Bytes within TLS since it came up. */
  readonly bytes: { readonly sent: number; readonly received: number };
  readonly streams: number;
  /** Bytes that wait to be sent. */
  readonly queued: number;
}

export interface LinkState {
  readonly operational: boolean;
  readonly remoteSiteId?: string;
  readonly remoteSiteName?: string;
  /** The `host:port` in use. */
  readonly endpoint?: string;
  /** Endpoints that the other site announced. */
  readonly announced?: readonly LinkEndpoint[];
  /** Time of the last bytes in milliseconds since 1970, while the link is up and silent. New connections use other paths meanwhile. */
  readonly silentSince?: number;
  /** Text about the current attempt to open the link, if it is slow and has not failed. */
  readonly slow?: string;
  readonly problem?: Problem;
  /** Number of attempts to open it since the process started. */
  readonly attempts?: number;
  /** The last problem, also if it is solved. `at` is in milliseconds since 1970. */
  readonly lastProblem?: Problem & { readonly at: number };
  /** While the link is up, computed when read: they change all the time. */
  readonly figures?: LinkFigures | undefined;
}

export interface SiblingLinkState extends Pick<LinkState, 'operational' | 'remoteSiteId' | 'remoteSiteName'> {
  /** Whole sentence. */
  readonly problem?: string;
}

/** State of a listener or of a connector. */
export interface SiblingPartState {
  readonly listener?: ListenerState;
  readonly connector?: ConnectorState;
}

export interface AccessState {
  readonly listening: boolean;
  /** Actual port, if the configured one is 0. */
  readonly port?: number;
  readonly problem?: Problem;
}

export interface PeerState {
  readonly siteId: string;
  readonly siteName: string;
  /** Serial number of the peer's certificate. */
  readonly serial: string;
  readonly address: string;
  readonly cost?: number;
  /** Time when the link came up, in milliseconds since 1970. */
  readonly since?: number;
  /** See `LinkState`. */
  readonly silentSince?: number;
  readonly figures?: LinkFigures | undefined;
}

/** A former link that another site had opened. */
export interface EndedPeerState {
  readonly siteId: string;
  readonly siteName: string;
  readonly address: string;
  readonly cost: number;
  /** Times when it came up and went down, in milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  /** Why it ended, a sentence or part of one. */
  readonly reason: string;
}

/** Counts of connections of a routing key with one site at the other end, since the router started. */
export interface SiteFigures {
  /** ID; null if it is not known, `(other)` for sites beyond the limit. */
  readonly site: string | null;
  readonly opened: number;
  readonly failed: number;
  readonly bytes: { readonly up: number; readonly down: number };
}

/** Counts of a routing key's connections in one role of the router, since its start. */
export interface ConnectionCounts extends Pick<SiteFigures, 'opened' | 'bytes'> {
  readonly open: number;
  /** By reason. */
  readonly failed: Readonly<Record<string, number>>;
}

export interface RoleFigures extends ConnectionCounts {
  /** Milliseconds; null if there are none. */
  readonly connect: Percentiles | null;
  /** For a listener the sites with the servers, for a connector those with the clients. */
  readonly sites: readonly SiteFigures[];
}

export interface KeyFigures {
  /** `request`: milliseconds from the head of a request to that of its response. */
  readonly listener?: RoleFigures & { readonly request: Percentiles | null };
  readonly connector?: RoleFigures;
}

/** Counts of a routing key in one role. There may be thousands of keys, so fields without counts are absent. */
export interface KeyCounts extends Pick<ConnectionCounts, 'open' | 'opened' | 'bytes'>, Partial<Pick<ConnectionCounts, 'failed'>> {
  readonly key: string;
  readonly role: 'listener' | 'connector';
  /** Number of observed requests with a response, and of those with a status of 500 or above. */
  readonly requests?: number;
  readonly errors?: number;
  /** Number of latencies by the upper bound of their step in milliseconds. */
  readonly connect?: LatencySteps;
  readonly request?: LatencySteps;
}

type LatencySteps = readonly (readonly [bound: number, count: number])[];

export interface KeyFiguresView {
  ofKey(routingKey: string): KeyFigures;
  all(): readonly KeyCounts[];
}

/** Figures of a router for those who read all of them, such as a console. */
export interface AllFigures {
  /** Milliseconds by which the event loop was late: p99 since these figures or the metrics were last read. */
  readonly eventLoopDelay?: number;
  /** `days` until the certificate of a TLS bundle expires. */
  readonly certificates: readonly { readonly bundle: string; readonly days: number }[];
  readonly items: readonly KeyCounts[];
}

/** A router on the path to a routing key's servers. */
export interface ProbedHop {
  /** `SITE-ID/ROUTER`. */
  readonly router: string;
  /** Name of its site. */
  readonly site: string;
  readonly ok: boolean;
  /** Least round-trip time in milliseconds, of up to three. */
  readonly ms?: number;
  readonly version?: string;
  /** Bytes that wait there to be sent back. */
  readonly queued?: number;
  /** Milliseconds of the round trip that the request waited in that router until it began. */
  readonly waited?: number;
  /** Milliseconds by which its clock is ahead of this one, to half the round trip. */
  readonly clockAhead?: number;
  /** Code and message if it was not reached. */
  readonly code?: string;
  readonly says?: string;
}

/** The server at the end of the path. */
export interface ProbedServer {
  readonly ok: boolean;
  /** Milliseconds to connect: measured by the last router if that reports it, else over the whole path. */
  readonly ms?: number;
  /** Milliseconds for TLS, number of servers, and number of those that are set aside. Old routers do not report them. */
  readonly tls?: number;
  readonly servers?: number;
  readonly aside?: number;
  readonly code?: string;
  readonly says?: string;
  /** Routers between that report how long they waited, the last one first; `nextRtt` is their last ping to the next one. */
  readonly passed?: readonly { readonly router: string; readonly ms: number; readonly nextRtt?: number }[];
}

/** A routing key, or a connector of this router by its name in the config. */
export type ProbeTarget = { readonly key: string } | { readonly connector: string };

export interface ProbeResult {
  readonly key: string;
  /** Empty if a connector of this router was probed. */
  readonly hops: readonly ProbedHop[];
  /** Absent if the path broke before. */
  readonly server?: ProbedServer;
}

/** Figures of a router for others. Sums begin when it starts, and contain no names of resources, addresses or clients. */
export interface RouterFigures {
  readonly version: string;
  /** Milliseconds since it started. */
  readonly uptime: number;
  /** Connections: open, accepted by a server, and failed. */
  readonly open: number;
  readonly opened: number;
  readonly failed: number;
  /** Bytes from clients to servers, and back. */
  readonly up: number;
  readonly down: number;
  /** Milliseconds: p99. */
  readonly eventLoopDelay?: number;
  /** The best link to each site. */
  readonly links: readonly AdjacentSite[];
}

export interface AdjacentSite {
  /** ID of the site. */
  readonly site: string;
  readonly state: 'up' | 'silent' | 'down';
  readonly cost?: number;
  /** Milliseconds. */
  readonly roundTrip?: number;
}

/** Figures of a router of a site by its name, or why it gave none. */
export type ObservedRouter =
  | { readonly router: string; readonly figures: RouterFigures }
  | { readonly router: string; readonly code: string; readonly message: string };

/** Calls from the router to the process that runs it. */
export interface RouterHooks {
  /**
   * Handles a peer with a valid certificate that requests its next one over its link.
   * @param peer the peer's current certificate, DER
   * @param request its certificate signing request (PKCS #10), PEM
   * @returns the new certificate and that of the authority, PEM
   * @throws an error whose message is sent to the peer, without its causes
   */
  renew?(peer: { readonly certificate: Buffer; readonly siteId: string }, request: string): Promise<IssuedCertificate>;
}

/** Figures of a router for its own API. */
export interface SelfFigures {
  /** Milliseconds by which the event loop is late: p99 since the metrics or all figures were last read. */
  readonly eventLoopDelay?: number;
  /** Absent if no other process announced this router. `last` is in milliseconds since 1970. */
  readonly contested?: { readonly count: number; readonly last: number };
}

export interface Router extends AsyncDisposable {
  readonly state: RouterState;
  /** Computed when read. */
  readonly selfFigures?: SelfFigures | undefined;
  /** Computes all figures. The event-loop delay begins again. */
  readFigures?(): AllFigures;
  /** Undefined if connections are not recorded. */
  readonly records?: RecordsView | undefined;
  readonly keyFigures?: KeyFiguresView | undefined;
  /** Applies a new config at once. An invalid part gets a problem in the state; nothing is thrown for it. */
  apply(config: RouterConfig): void;
  /** Calls the listener after changes of `state`, at most once for each event-loop iteration. @returns a function that unsubscribes it */
  onChange(listener: () => void): () => void;
  /**
   * Measures the path to the best destination of a routing key, and connects to a server there. Or connects to a server of a connector.
   * @returns undefined without a destination, or without the connector
   */
  probe(target: ProbeTarget): Promise<ProbeResult | undefined>;
  /** Asks each router of a site for its figures. Takes up to 5 s. @returns undefined if the site is unreachable */
  observe(siteId: string): Promise<readonly ObservedRouter[] | undefined>;
  /** Requests a new certificate from the other end of a link. */
  renew(link: string, request: string): Promise<IssuedCertificate>;
  /**
   * Announces that the router will be drained soon: other sites link elsewhere, and no new links are accepted here. Existing traffic
   * continues.
   */
  leave(): void;
  /** Stops accepting, lets connections finish for at most `deadline` milliseconds, then closes. */
  drain(deadline: number): Promise<void>;
}
