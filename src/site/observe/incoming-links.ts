import type { IncomingLink } from '../../api/skupper/index.ts';
import type { RouterState } from '../../router/contract.ts';
import { printable } from '../../text/printable.ts';
import { timeText } from './time-text.ts';

/** Maximum number of links in a status; operational links come first. */
const MOST_LINKS = 128;
const LONGEST_MESSAGE = 200;

/** Links that other sites opened, as this accepting side sees them. */
export function listIncomingLinks(router: RouterState): readonly IncomingLink[] {
  const up = router.incoming.map(({ siteId, siteName, address, cost, since, silentSince }): IncomingLink => ({
    siteId,
    siteName,
    address,
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
      address,
      cost,
      operational: false,
      since: timeText(until),
      message: printable(reason, LONGEST_MESSAGE),
    }));
  const known = new Set([...router.incoming, ...(router.endedIncoming ?? [])].map(({ siteId }) => siteId));
  return [...up, ...ofSiblings(router, known), ...ended].slice(0, MOST_LINKS);
}

/** Another router of the site announces only the sites that it is linked with. */
function ofSiblings({ network, links }: RouterState, known: ReadonlySet<string>): readonly IncomingLink[] {
  const [own, ...others] = network;
  const opened = new Set(Object.values(links).map(({ remoteSiteId }) => remoteSiteId));
  return others
    .filter(({ site }) => site.id === own?.site.id)
    .flatMap((record) => record.links)
    .filter(({ siteId }) => siteId !== own?.site.id && !known.has(siteId) && !opened.has(siteId))
    .map(({ siteId, siteName, cost }) => ({ siteId, siteName, cost, operational: true }));
}
