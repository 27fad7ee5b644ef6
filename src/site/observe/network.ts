import type { SiteRecord } from '../../api/skupper/index.ts';
import type { RouterRecord } from '../../router/contract.ts';

/** Maximum number of entries for each count: a peer may claim any number. */
const MOST_ENTRIES = 16;
/** Maximum number of links, routing keys and their entries of all sites but the first: any change of them rewrites the status. */
const MOST_OF_ALL = 8_192;

/**
 * One entry for each site, in the order in which sites appear. The first, which is this site, is complete. A site beyond the limit has only
 * names, and uses none of the capacity of those after it.
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

/** @returns undefined if it is larger; `listed` is checked first, so that an oversized record is not read */
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
    // Routers announce a link by an ID instead of the name of its Link.
    name: link.siteName === '' ? link.siteId : link.siteName,
    remoteSiteId: link.siteId,
    remoteSiteName: link.siteName,
    // Routers announce only operational links.
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

/** Links to other sites, of the routers of one site. Links between these routers are omitted. */
export function linksToOthers(routers: readonly RouterRecord[]): RouterRecord['links'] {
  return routers.flatMap(({ site, links }) => links.filter(({ siteId }) => siteId !== site.id));
}

/** Routers announce counts without names: one entry for each, `router/1`, `router/2`. */
function entriesOf(router: string, count: number): readonly string[] {
  return Array.from({ length: Math.min(count, MOST_ENTRIES) }, (_, index) => `${router}/${index + 1}`);
}
