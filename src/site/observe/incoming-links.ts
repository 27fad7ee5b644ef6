import type { IncomingLink } from '../../api/skupper/index.ts';
import type { RouterState } from '../../router/contract.ts';
import { printable } from '../../text/printable.ts';
import { timeText } from './time-text.ts';

/** Links in a status: those that are up come first. */
const MOST_LINKS = 128;
const LONGEST_MESSAGE = 200;

/** What the accepting side knows of the links that other sites opened to it. */
export function listIncomingLinks(router: RouterState): readonly IncomingLink[] {
  const up = router.incoming.map(({ siteId, siteName, address, cost, since, silentSince }): IncomingLink => ({
    siteId,
    siteName,
    address: plainAddress(address),
    ...(cost === undefined ? {} : { cost }),
    operational: true,
    ...(since === undefined ? {} : { since: timeText(since) }),
    ...(silentSince === undefined ? {} : { message: `silent since ${timeText(silentSince)}` }),
  }));
  const ended = (router.endedIncoming ?? [])
    .toReversed()
    .map(({ siteId, siteName, address, cost, until, reason }): IncomingLink => ({
      siteId,
      siteName,
      address: plainAddress(address),
      cost,
      operational: false,
      since: timeText(until),
      message: printable(reason, LONGEST_MESSAGE),
    }));
  const known = new Set([...router.incoming, ...(router.endedIncoming ?? [])].map(({ siteId }) => siteId));
  return [...up, ...ofSiblings(router, known), ...ended].slice(0, MOST_LINKS);
}

/** A socket of both families has IPv4 addresses in the form of IPv6 (RFC 4291 section 2.5.5.2). */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

/** Another router of the site tells with whom it is linked, and no more. */
function ofSiblings({ network, links }: RouterState, known: ReadonlySet<string>): readonly IncomingLink[] {
  const [own, ...others] = network;
  const opened = new Set(Object.values(links).map(({ remoteSiteId }) => remoteSiteId));
  return others
    .filter(({ site }) => site.id === own?.site.id)
    .flatMap((record) => record.links)
    .filter(({ siteId }) => siteId !== own?.site.id && !known.has(siteId) && !opened.has(siteId))
    .map(({ siteId, siteName, cost }) => ({ siteId, siteName, cost, operational: true }));
}
