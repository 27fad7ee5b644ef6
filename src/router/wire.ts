/** What stands on the wire between routers, by name: see `docs/protocol.md`. */

/** Standard HTTP/2: the TLS client opens requests. */
export const FORWARD = 'h2';
/** HTTP/2 with the roles turned round after the handshake: the TLS server opens requests. */
export const REVERSE = 'earshot-reverse/1';

export const ROUTING_PATH = '/.well-known/earshot/routing';
export const ATTACH_PATH = '/.well-known/earshot/attach';
export const RENEW_PATH = '/.well-known/earshot/renew';
/** `:authority` of the link's own requests. The connection names the peer already. */
export const AUTHORITY = 'earshot';

/** Fields of a CONNECT: the routers that are still to be visited. */
export const ROUTE_FIELD = 'earshot-route';
/** The name of the connection in all routers' logs. */
export const CONNECTION_FIELD = 'earshot-connection';
/** The site where the connection began, as that one says. */
export const ORIGIN_FIELD = 'earshot-origin';
/** The sites that it came through, as the routers behind them found. */
export const VIA_FIELD = 'earshot-via';
/** Of an answer that refuses (RFC 9209). */
export const STATUS_FIELD = 'proxy-status';

/** Versions of this protocol that this router speaks, the best first. */
export const VERSIONS: readonly number[] = [1];

export const EXPORTER_LABEL = 'EXPORTER-earshot-link';
export const EXPORTER_BYTES = 32;

/** Types of messages on a routing stream that are the link's own; all below are routing's. */
export const LINK_MESSAGES_FROM = 0xf0;
export const HELLO = 0xf0;
/** The dialing side's new cost: a JSON object with `cost`. */
export const COST = 0xf1;
/** Of the accepting side: it takes no new links any more, and this one soon ends. Nothing follows the type. */
export const LEAVING = 0xf2;
/** Where the accepting side's site is reached: a JSON object with `endpoints`. */
export const ENDPOINTS = 0xf3;
/** Between routers of one site: what becomes of a link that the sender opens, a JSON object with `link`. */
export const SIBLING_LINK = 0xf4;
/** Of one link; least is 1. */
export const MOST_COST = 65_535;
