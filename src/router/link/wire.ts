/** What stands on the wire of a link, by name: see `docs/protocol.md`. */

/** Standard HTTP/2: the TLS client opens requests. */
export const FORWARD = 'h2';
/** HTTP/2 with the roles turned round after the handshake: the TLS server opens requests. */
export const REVERSE = 'earshot-reverse/1';

export const ROUTING_PATH = '/.well-known/earshot/routing';
export const ATTACH_PATH = '/.well-known/earshot/attach';
export const RENEW_PATH = '/.well-known/earshot/renew';
/** `:authority` of the link's own requests. The connection names the peer already. */
export const AUTHORITY = 'earshot';

export const ROUTE_FIELD = 'earshot-route';
export const MOST_HOPS = 32;

/** Versions of this protocol that this router speaks, the best first. */
export const VERSIONS: readonly number[] = [1];

export const EXPORTER_LABEL = 'EXPORTER-earshot-link';
export const EXPORTER_BYTES = 32;

/** Types of messages on a routing stream that are the link's own; all below are routing's. */
export const LINK_MESSAGES_FROM = 0xf0;
export const HELLO = 0xf0;
/** The dialing side's new cost: a JSON object with `cost`. */
export const COST = 0xf1;

/** RFC 9113 section 7. */
export const NO_ERROR = 0x0;
export const INTERNAL_ERROR = 0x2;
export const CANCEL = 0x8;
export const REFUSED_STREAM = 0x7;
export const INADEQUATE_SECURITY = 0xc;

/** Milliseconds. */
export const CONNECT_DEADLINE = 5_000;
export const HELLO_DEADLINE = 5_000;
/** Of one link; least is 1. */
export const MOST_COST = 65_535;
