/** Names of the connection half that manifests and other programs use. */

export const GROUP = 'skupper.io';
export const VERSION = 'v2alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Endpoint names, which are also the roles of an access. Links from edge sites use `edge`. */
export const INTER_ROUTER = 'inter-router';
export const EDGE = 'edge';

/** Default ports of an access. */
export const DEFAULT_PORTS = { [INTER_ROUTER]: 55_671, [EDGE]: 45_671 } as const;

/** Time from an AccessGrant's creation in which its tokens can be redeemed, as a duration. */
export const DEFAULT_EXPIRATION_WINDOW = '15m';
