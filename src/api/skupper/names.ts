/** The names by which manifests and other programs know the connection half. */

export const GROUP = 'skupper.io';
export const VERSION = 'v2alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Names of endpoints, and the roles of an access: a link from an edge site uses the second. */
export const INTER_ROUTER = 'inter-router';
export const EDGE = 'edge';

/** Ports of an access that names none. */
export const DEFAULT_PORTS = { [INTER_ROUTER]: 55_671, [EDGE]: 45_671 } as const;
