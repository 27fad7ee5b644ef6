import type { Link } from './link.ts';

/**
 * Fields of log lines about a link. Both ends have the same `link`; only the dialing end has a name for it. `router` is this router, in all
 * of its lines.
 */
export function linkFields({ id, name, router, peer }: Link): Readonly<Record<string, unknown>> {
  return { link: id, linkName: name, remoteRouter: router, remoteSite: peer.site.name };
}
