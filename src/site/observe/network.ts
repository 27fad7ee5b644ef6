import type { SiteRecord } from '../../api/skupper/index.ts';
import type { RouterRecord } from '../../router/contract.ts';

/** A peer may claim any number of listeners. */
const MOST_ENTRIES = 16;
/** Links, routing keys and what there is of each, of all sites but the first: a status is written anew whenever one of them changes. */
const MOST_OF_ALL = 8_192;

/**
 * Routers of one site are one entry, in the order in which sites are met. The first, which is this one, is shown whole; of others for which there
 * is no room there are names, and no links or services, and they take none from those that follow.
 */
export function networkOf(routers: readonly RouterRecord[]): readonly SiteRecord[] {
  const bySite = Map.groupBy(routers, ({ site }) => site.id);
  let left = MOST_OF_ALL;
  return [...bySite.values()].map((own, index) => {
    const size = index === 0 ? 0 : sizeWithin(own, left);
    if (size === undefined) return siteRecord(own.map(({ router, site, edge }) => ({ router, site, edge, links: [], keys: [] })));
    left -= size;
    return siteRecord(own);
  });
}

/** @returns undefined where it is more than that: `listed` says so first, so that what is too large is not read */
function sizeWithin(routers: readonly RouterRecord[], most: number): number | undefined {
  if (routers.reduce((sum, { listed = 0 }) => sum + listed, 0) > most) return undefined;
  const ofKey = ({ connectors, listeners }: RouterRecord['keys'][number]): number =>
    1 + Math.min(connectors, MOST_ENTRIES) + Math.min(listeners, MOST_ENTRIES);
  const size = routers.reduce((sum, { links, keys }) => keys.reduce((all, key) => all + ofKey(key), sum + links.length), 0);
  return size > most ? undefined : size;
}

function siteRecord(routers: readonly RouterRecord[]): SiteRecord {
  const [first] = routers;
  if (first === undefined) return {};
  const { id, name, namespace, platform, version } = first.site;
  const links = linksToOthers(routers).map((link) => ({
    // Routers announce a link by an id, and not by the name of its Link.
    name: link.siteName === '' ? link.siteId : link.siteName,
    remoteSiteId: link.siteId,
    remoteSiteName: link.siteName,
    // A router tells only of links that are up.
    operational: true,
  }));
  const services = new Map<string, { readonly connectors: string[]; readonly listeners: string[] }>();
  for (const { router, keys } of routers) {
    for (const { routingKey, connectors, listeners } of keys) {
      const service = services.getOrInsertComputed(routingKey, () => ({ connectors: [], listeners: [] }));
      service.connectors.push(...entriesOf(router, connectors));
      service.listeners.push(...entriesOf(router, listeners));
    }
  }
  return {
    id,
    name,
    namespace,
    platform,
    version,
    links,
    services: [...services].map(([routingKey, found]) => ({ routingKey, ...found })),
  };
}

/** Of the routers of one site. These are linked with each other too, which is nobody's concern. */
export function linksToOthers(routers: readonly RouterRecord[]): RouterRecord['links'] {
  return routers.flatMap(({ site, links }) => links.filter(({ siteId }) => siteId !== site.id));
}

/** Routers tell how many they have, not what they are called: one entry for each, `router/1`, `router/2`. */
function entriesOf(router: string, count: number): readonly string[] {
  return Array.from({ length: Math.min(count, MOST_ENTRIES) }, (_, index) => `${router}/${index + 1}`);
}
