import type { Link } from './link.ts';

/** Fields of log lines about a link. Both ends have the same `link`; only the dialing end has a name for it. */
export function linkFields({ id, name, router, peer }: Link): Readonly<Record<string, unknown>> {
  return { link: id, linkName: name, router, site: peer.site.name };
}
