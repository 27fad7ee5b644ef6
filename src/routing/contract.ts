/**
 * Link-state routing as plain data, without a clock or sockets. The link layer passes messages in and sends the messages returned. A node
 * is a router with the id `SITE-ID/ROUTER`.
 */
import type { Buffer } from 'node:buffer';
import type { SiteKey } from '../identity/site-key.ts';

export type RouterId = string;

/** Highest cost of a link; the lowest is 1. */
export const MOST_COST = 65_535;

/**
 * Identity of a site towards all others. `id` is derived from the site's public key (see `docs/protocol.md`), so no other site can use it.
 */
export interface SiteIdentity {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
}

/** Facts that a router announces to all others, as far as a status shows them. */
export interface RouterRecord {
  readonly router: string;
  readonly site: SiteIdentity;
  readonly edge: boolean;
  /** Upper bound on the number of links and keys, known without reading them. */
  readonly listed?: number;
  readonly links: readonly { readonly name: string; readonly siteId: string; readonly siteName: string; readonly cost: number }[];
  readonly keys: readonly { readonly routingKey: string; readonly connectors: number; readonly listeners: number }[];
}

/** Facts that this router announces about itself. */
export interface OwnFacts {
  readonly edge: boolean;
  /** Current name of the site. If absent, the last name stays. */
  readonly name?: string;
  readonly keys: readonly {
    readonly routingKey: string;
    readonly connectors: number;
    readonly listeners: number;
    /** Whether all servers of the connectors refused the last attempt. */
    readonly failing?: boolean;
  }[];
}

/** An adjacent router. The link has authenticated its identity. */
export interface Adjacency {
  readonly router: RouterId;
  readonly site: SiteIdentity;
  /** Unique id of the link; two routers may have several links. */
  readonly link: string;
  readonly cost: number;
  /** Whether the neighbour's site carries no transit traffic over this link, whatever it announces. */
  readonly confined?: boolean;
  /**
   * Whether nothing arrives over the link. A silent link is announced at the greatest cost, so that it is used only if no other path
   * exists.
   */
  readonly isSilent?: boolean;
}

/** Message for one adjacent router, sent over its routing stream. */
export interface Outgoing {
  readonly link: string;
  readonly message: Buffer;
  /** Whether the message may be dropped. The caller then calls `missed` for the link once there is room. */
  readonly isNews?: boolean;
}

export interface RoutingOptions {
  readonly router: string;
  readonly site: SiteIdentity;
  readonly siteKey: SiteKey;
  /** Checks a signature by the site's key. Simulations replace it. */
  readonly verify?: (publicKey: Buffer, message: Buffer, signature: Buffer) => boolean;
  readonly limits?: Partial<RoutingLimits>;
}

/**
 * Limits on what peers can make this router hold. The totals over all routers hold again within a second, and are never exceeded by more
 * than 1/16 (`SLACK`).
 */
export interface RoutingLimits {
  readonly routers: number;
  /** Number of routers of one site; adjacent routers stay even beyond it. For up to a second there may be twice as many. */
  readonly routersOfSite: number;
  readonly keysOfRouter: number;
  readonly neighboursOfRouter: number;
  /** Number of neighbours that all routers list. It bounds the path computation and the displayed network. */
  readonly neighbours: number;
  readonly keys: number;
  /** Size of one message in bytes, including its type. */
  readonly messageBytes: number;
  /** Size of all stored records in bytes, including `RECORD_OVERHEAD`. */
  readonly databaseBytes: number;
}

/** Counters for metrics and log lines. All only grow, except `leftOut`. */
export interface RoutingCounters {
  /** Number of records that were new and stored. */
  readonly accepted: number;
  /** Number of records that were already stored, or older than the stored ones. */
  readonly stale: number;
  /** Number of records beyond a limit, including those evicted when a limit was reached. */
  readonly refused: number;
  /** Number of records with an invalid body. */
  readonly malformed: number;
  /** Number of records beyond a rate limit. They are fetched later. */
  readonly postponed: number;
  /** Number of records in this router's name that it did not create: a copy of the site runs, or this machine's clock was set back. */
  readonly contested: number;
  /** Current number of own keys and neighbours beyond a limit. */
  readonly leftOut: number;
}

/** Epochs that another process announced for this router, beyond its own. */
export interface Contests {
  /** Number that this router answered. A clock that was set back causes one; a running copy of the site causes more and more. */
  readonly count: number;
  /** Time of the last one in milliseconds since 1970. */
  readonly last: number;
}

/**
 * Whether work is pending. `a while`: own changes or recomputed routes wait for a rate limit or CPU budget. `a turn`: work on a large
 * network continues in the next event-loop iteration.
 */
export type Waiting = 'no' | 'a while' | 'a turn';

/** Each call takes the current time in milliseconds since 1970 (for ageing and for sequence numbers) and returns the messages to send. */
export interface Routing {
  readonly self: RouterId;
  setFacts(facts: OwnFacts, now: number): readonly Outgoing[];
  adjacencyUp(adjacency: Adjacency, now: number): readonly Outgoing[];
  adjacencyDown(link: string, now: number): readonly Outgoing[];
  /** Processes one complete message from the link. @throws RoutingError if the peer must be disconnected */
  receive(link: string, message: Buffer, now: number): readonly Outgoing[];
  /** Sets the sites that count as unreachable here, whatever peers announce about them. */
  block(sites: ReadonlySet<string>): void;
  /** Reports that a message with `isNews` was dropped. At the next tick both ends compare their databases. */
  missed(link: string): void;
  /** Ages, refreshes and sends deferred messages. Call it about once a second. */
  tick(now: number): readonly Outgoing[];
  readonly waiting: Waiting;
  /** Does the pending work if enough time has passed. */
  release(now: number): readonly Outgoing[];
  /** Connectors of the key by ascending cost, at most 256 routers. A change of the result raises `version`. */
  destinations(routingKey: string): readonly RouteDestination[];
  /** Path of the least cost. Undefined if the router is unreachable. */
  pathTo(router: RouterId): RouterPath | undefined;
  /**
   * Whether new connections should avoid the path because one of its hops is silent or gone.
   * @param firstLink the link over which the path begins
   */
  isSilent(path: readonly RouterId[], firstLink: string | undefined): boolean;
  /** Whether any reachable router has a listener of the key. */
  hasListener(routingKey: string): boolean;
  /** Undefined if the site is unknown, including a site that was forgotten after it became unreachable. */
  site(siteId: string): { readonly name: string; readonly isReachable: boolean } | undefined;
  /** All reachable routers; this router is the first. */
  network(): readonly RouterRecord[];
  /** Raised by each change of destinations, listeners, sites or the network. */
  readonly version: number;
  readonly counters: RoutingCounters;
  readonly contested: Contests;
}

export interface RouterPath {
  readonly router: RouterId;
  /** Routers from the next hop to the destination, both included. Empty for this router itself. No router occurs twice. */
  readonly path: readonly RouterId[];
  /** Links to the first router of `path` by ascending cost. */
  readonly links: readonly string[];
}

/** A router with connectors of a routing key. */
export interface RouteDestination extends RouterPath {
  readonly cost: number;
  /** Number of connectors of the key at the router. */
  readonly connectors: number;
  /** Whether all their servers refused the last attempt. Undefined if the router does not announce this. */
  readonly failing?: boolean;
}
