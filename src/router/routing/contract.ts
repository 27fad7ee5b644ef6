/**
 * Link-state routing as plain data: no clock, no socket. The link layer feeds it messages and sends what it returns.
 * A node is a router, `SITE-ID/ROUTER`.
 */
import type { Buffer } from 'node:buffer';
import type { RouterRecord, SiteIdentity, SiteKey } from '../contract.ts';

export type RouterId = string;

/** What this router says of itself. */
export interface OwnFacts {
  readonly edge: boolean;
  /** The site's name as it is now; left out, it stays as it was. */
  readonly name?: string;
  readonly keys: readonly {
    readonly routingKey: string;
    readonly connectors: number;
    readonly listeners: number;
    /** All servers of the connectors refused at the last attempt. */
    readonly failing?: boolean;
  }[];
}

/** An adjacent router: its identity has been proved on the link. */
export interface Adjacency {
  readonly router: RouterId;
  readonly site: SiteIdentity;
  /** Unique for each link between the two. */
  readonly link: string;
  readonly cost: number;
  /** Whatever the other router's site says of itself, it carries nothing between others over this link. */
  readonly confined?: boolean;
  /** Nothing arrives over the link: it is announced at the greatest cost, so that other paths are used where there are any. */
  readonly isSilent?: boolean;
}

/** Bytes for one adjacent router, over its routing stream. */
export interface Outgoing {
  readonly link: string;
  readonly message: Buffer;
  /** It may be left out, and `missed` be said of the link once there is room. */
  readonly isNews?: boolean;
}

export interface RoutingOptions {
  readonly router: string;
  readonly site: SiteIdentity;
  readonly siteKey: SiteKey;
  /** Whether the signature is the site's; replaced in simulations. */
  readonly verify?: (publicKey: Buffer, message: Buffer, signature: Buffer) => boolean;
  readonly limits?: Partial<RoutingLimits>;
}

/**
 * Bounds on what peers can make us hold. Those of all routers together are kept to within a second, and never exceeded by more than a
 * sixteenth.
 */
export interface RoutingLimits {
  readonly routers: number;
  /** Adjacent ones not counted. For a second there may be twice as many. */
  readonly routersOfSite: number;
  readonly keysOfRouter: number;
  readonly neighboursOfRouter: number;
  /** Of all routers: what paths are found in, and what is shown of the network. */
  readonly neighbours: number;
  readonly keys: number;
  /** Of one message, its type included. */
  readonly messageBytes: number;
  /** Of all records held, with what holding them costs. */
  readonly databaseBytes: number;
}

/** What came in and was not taken, for metrics and log lines. Each only grows. */
export interface RoutingCounters {
  /** Records that were new to us. */
  readonly accepted: number;
  /** Records that we had already, or newer ones. */
  readonly stale: number;
  /** Records beyond a limit, or given up for others when one was reached. */
  readonly refused: number;
  /** Records whose origin made them wrongly. */
  readonly malformed: number;
  /** Records that came faster than they are taken; they are fetched later. */
  readonly postponed: number;
  /** Someone else speaks as this router: a copy of the site runs, or our clock was set back. */
  readonly contested: number;
  /** Of our own keys and neighbours, those beyond a limit, now. */
  readonly leftOut: number;
}

/**
 * Whether something is left to do: `a while`, where this router has something new to say of itself, or has heard what changes paths or where a key is, and
 * has done so much of that of late that it has to wait; `a turn`, where it works on so large a network that others are to have their turns in between.
 */
export type Waiting = 'no' | 'a while' | 'a turn';

/** Every call takes the time (milliseconds, monotonic enough for ageing; epoch for sequence numbers) and returns what is to be sent. */
export interface Routing {
  readonly self: RouterId;
  setFacts(facts: OwnFacts, now: number): readonly Outgoing[];
  adjacencyUp(adjacency: Adjacency, now: number): readonly Outgoing[];
  adjacencyDown(link: string, now: number): readonly Outgoing[];
  /** One whole message from that link. @throws RoutingError where the peer is to be cut off */
  receive(link: string, message: Buffer, now: number): readonly Outgoing[];
  /** Sites that count as unreachable here, whatever is heard of them. */
  block(sites: ReadonlySet<string>): void;
  /** News for that link was left out: with the next tick both ends compare what they hold. */
  missed(link: string): void;
  /** To be called about once a second: ageing, refresh, what was held back. */
  tick(now: number): readonly Outgoing[];
  readonly waiting: Waiting;
  /** Does what waits, if enough time has passed. */
  release(now: number): readonly Outgoing[];
  /** Where connectors of the key are, least cost first; the nearest 256. Changes of the answer raise `version`. */
  destinations(routingKey: string): readonly RouteDestination[];
  /**
   * Whether new connections should avoid the path: one of its hops is silent, or no longer there.
   * @param firstLink the link over which the path begins
   */
  isSilent(path: readonly RouterId[], firstLink: string | undefined): boolean;
  /** Whether a listener of the key is anywhere. */
  hasListener(routingKey: string): boolean;
  /** Undefined for a site of which nothing is known. It may have been forgotten since it was reachable. */
  site(siteId: string): { readonly name: string; readonly isReachable: boolean } | undefined;
  /** All reachable routers, this one first. */
  network(): readonly RouterRecord[];
  /** Raised by each change of what the three above answer. */
  readonly version: number;
  readonly counters: RoutingCounters;
}

export interface RouteDestination {
  readonly router: RouterId;
  readonly cost: number;
  /** Connectors of the key at that router. */
  readonly connectors: number;
  /** All their servers refused at the last attempt. Undefined: that router does not announce this. */
  readonly failing?: boolean;
  /** Routers from the next hop to the destination, both included; empty for this router itself. Never holds a router twice. */
  readonly path: readonly RouterId[];
  /** Links to the first of `path` (more than one may exist), least cost first. */
  readonly links: readonly string[];
}
