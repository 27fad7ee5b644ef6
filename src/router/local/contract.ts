/**
 * The local side of a router: everything between local TCP sockets and HTTP/2 streams. It listens, chooses destinations, connects to
 * servers, and forwards bytes. It does not know links: the caller provides `open`.
 *
 *     const local = new LocalSide({ log, site: id, routing, open });
 *     local.apply(config.listeners, config.connectors);   // at the start and at each change
 *     routing.setFacts({ edge, keys: local.keys }, now);  // after each `onChange`, if it is another array
 *     local.routingChanged();                             // whenever `routing.version` has risen
 *     onRequest: (stream, head) => route is used up ? local.accept(stream, head) : no route ? local.enter(stream, head) : transit
 */
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { ConnectorState, ListenerState } from '../contract.ts';
import type { Memory } from '../../memory/memory.ts';
import type { ConnectionRecords } from '../records/connection-records.ts';
import type { RequestHead, Stream, StreamHandler } from '../../http2/contract.ts';
import type { RouteDestination, Routing } from '../../routing/contract.ts';

export interface LocalSideOptions {
  readonly log: Logger;
  /** This site's id: the origin of connections that begin here. */
  readonly site: string;
  readonly routing: Pick<Routing, 'self' | 'destinations' | 'hasListener' | 'site' | 'isSilent'>;
  /** Returns why the last link with a site ended. Undefined while a link is up. */
  linkEnd?(siteId: string): string | undefined;
  /**
   * Opens a CONNECT stream to another router. `head` is complete: key, route, origin and connection id. Throws if no link leads there
   * now; then the next candidate is tried.
   */
  open(to: RouteDestination, head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream;
  /** Memory budget for everything that the router holds for others. */
  readonly budget: Memory;
  /** Records of connections; none if omitted. */
  readonly records?: ConnectionRecords;
  readonly limits?: Partial<LocalLimits>;
  /** Returns a random number from 0 to below 1. Tests replace it. */
  readonly random?: () => number;
  /** Returns the process that listens on a port, if that can be determined. Tests replace it. */
  readonly portOwner?: (port: number) => string | undefined;
}

/** Limits in milliseconds, unless they are counts. */
export interface LocalLimits {
  /** Time to connect to a server, including name resolution, all its addresses and TLS. */
  readonly connect: number;
  /** Time to find a candidate that accepts the connection. */
  readonly establish: number;
  /** Maximum number of candidates that a connection may try. */
  readonly attempts: number;
  /** First and longest time for which a refusing server is set aside. */
  readonly setAsideFirst: number;
  readonly setAsideMost: number;
  /** Time that a client of a TLS listener has for the handshake. */
  readonly handshake: number;
  /** Maximum number of client TLS handshakes in progress. Beyond it, the oldest one of the largest group is ended. */
  readonly handshakes: number;
  /** First and longest time until a port is tried again after a failure. */
  readonly listenFirst: number;
  readonly listenMost: number;
  /** Time for which a listener that has lost its last destination keeps its port open. */
  readonly linger: number;
  /** Maximum number of client and server sockets: the part of the process's open-files limit that is left for them. */
  readonly sockets: number;
}

export interface LocalState {
  readonly listeners: Readonly<Record<string, ListenerState>>;
  readonly connectors: Readonly<Record<string, ConnectorState>>;
}
