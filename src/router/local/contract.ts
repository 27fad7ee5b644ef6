/**
 * The local side of a router: everything between local TCP sockets and HTTP/2 streams. It listens, chooses where a
 * connection goes, connects to servers, and passes the bytes. It knows no link: whoever composes the router gives it `open`.
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
import type { Memory } from '../memory/memory.ts';
import type { RequestHead, Stream, StreamHandler } from '../http2/contract.ts';
import type { RouteDestination, Routing } from '../routing/contract.ts';

export interface LocalSideOptions {
  readonly log: Logger;
  /** This site's id: the origin of connections that begin here. */
  readonly site: string;
  readonly routing: Pick<Routing, 'self' | 'destinations' | 'hasListener' | 'site' | 'isSilent'>;
  /** Why the last link with a site ended, while none is up. */
  linkEnd?(siteId: string): string | undefined;
  /**
   * Opens a CONNECT stream to a router that is not this one. `head` is whole: key, route, origin and connection id.
   * Throws where no link leads there now; then the next candidate is tried.
   */
  open(to: RouteDestination, head: RequestHead, handler: StreamHandler, whose: ShareOwner): Stream;
  /** Of memory, for all that the router holds for others. */
  readonly budget: Memory;
  readonly limits?: Partial<LocalLimits>;
  /** From 0 to below 1; replaced in tests. */
  readonly random?: () => number;
  /** Who listens on a port, if it can be known; replaced in tests. */
  readonly portOwner?: (port: number) => string | undefined;
}

/** Milliseconds and counts. */
export interface LocalLimits {
  /** To connect to a server, with name, all its addresses and TLS. */
  readonly connect: number;
  /** To find any candidate that takes a connection. */
  readonly establish: number;
  /** How many candidates a connection may try. */
  readonly attempts: number;
  /** How long a refusing server is set aside, first and at most. */
  readonly setAsideFirst: number;
  readonly setAsideMost: number;
  /** What a client of a listener with TLS has for the handshake. */
  readonly handshake: number;
  /** TLS handshakes of clients that may be under way at once; for one more, the oldest where most of them are is ended. */
  readonly handshakes: number;
  /** How long after a failure a port is tried again, first and at most. */
  readonly listenFirst: number;
  readonly listenMost: number;
  /** Sockets of clients and servers: what the process's limit of open files leaves to them. */
  readonly sockets: number;
}

export interface LocalState {
  readonly listeners: Readonly<Record<string, ListenerState>>;
  readonly connectors: Readonly<Record<string, ConnectorState>>;
}
