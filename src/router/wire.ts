/** Names and numbers of the protocol between routers: see `docs/protocol.md`. */

/** Standard HTTP/2: the TLS client opens requests. */
export const FORWARD = 'h2';
/** HTTP/2 with the roles reversed after the handshake: the TLS server opens requests. */
export const REVERSE = 'earshot-reverse/1';

export const ROUTING_PATH = '/.well-known/earshot/routing';
export const ATTACH_PATH = '/.well-known/earshot/attach';
export const RENEW_PATH = '/.well-known/earshot/renew';
/** `:authority` of the link's own requests. The connection identifies the peer already. */
export const AUTHORITY = 'earshot';

/** Field of a CONNECT: the routers still to be visited. */
export const ROUTE_FIELD = 'earshot-route';
/** ID of the connection in the logs of all routers. */
export const CONNECTION_FIELD = 'earshot-connection';
/** Site where the connection began, as claimed by it. */
export const ORIGIN_FIELD = 'earshot-origin';
/** Sites that the connection came through, as recorded by the routers behind them. */
export const VIA_FIELD = 'earshot-via';
/** Asks the last router of a route about the path instead of for a connection; in answers, what it reports. See `probe/probe-fields.ts`. */
export const PROBE_FIELD = 'earshot-probe';
/** Routers that an answer to a probe has passed, the last one of the route first. */
export const PROBE_PATH_FIELD = 'earshot-probe-path';
/** `:authority` of probes that are not for a routing key. Keys with this prefix are reserved. */
export const PROBE_AUTHORITY = 'earshot:probe';
/** `:authority` of requests for the figures of a router. */
export const OBSERVE_AUTHORITY = 'earshot:observe';
/** Field of an error response (RFC 9209). */
export const STATUS_FIELD = 'proxy-status';

/** Protocol versions of this router, the best first. */
export const VERSIONS: readonly number[] = [1];

export const EXPORTER_LABEL = 'EXPORTER-earshot-link';
export const EXPORTER_BYTES = 32;

/** First message type of a routing stream that is the link's own; lower types belong to routing. */
export const LINK_MESSAGES_FROM = 0xf0;
export const HELLO = 0xf0;
/** New cost from the dialing end: a JSON object with `cost`. */
export const COST = 0xf1;
/** Announcement of the accepting end that it accepts no new links and ends this one soon. No payload. */
export const LEAVING = 0xf2;
/** Endpoints of the accepting end's site: a JSON object with `endpoints`. */
export const ENDPOINTS = 0xf3;
/** State of a link that the sender opens, between routers of one site: a JSON object with `link`. */
export const SIBLING_LINK = 0xf4;
/** State of a listener or connector of the sender, between routers of one site: a JSON object with `part`. */
export const SIBLING_PART = 0xf5;
