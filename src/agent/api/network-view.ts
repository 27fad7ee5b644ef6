/** View of the network for the router API (pure), derived from the records that routers announce. */
import type { RouterRecord } from '../../router/contract.ts';
import { linksToOthers } from '../../site/observe/network.ts';

export interface SiteView {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
  readonly edge: boolean;
  /** Names of the reachable routers. */
  readonly routers: readonly string[];
  /** Links to other sites that are up. Routers announce only such links. */
  readonly links: readonly { readonly siteId: string; readonly siteName: string; readonly cost: number }[];
}

export interface KeyView {
  readonly key: string;
  readonly listeners: readonly SiteCount[];
  readonly connectors: readonly SiteCount[];
  /** Whether a reachable site has a connector. */
  readonly reachable: boolean;
}

interface SiteCount {
  /** ID of the site. */
  readonly site: string;
  /** Largest count of one router. */
  readonly count: number;
}

/** Lists the router's own site first, then the others in the order of the records. */
export function sitesOf(routers: readonly RouterRecord[]): readonly SiteView[] {
  return [...Map.groupBy(routers, ({ site }) => site.id)].flatMap(([id, own]) => {
    const [first] = own;
    if (first === undefined) return [];
    const { name, namespace, platform, version } = first.site;
    const links = linksToOthers(own).map(({ siteId, siteName, cost }) => ({ siteId, siteName, cost }));
    return [{ id, name, namespace, platform, version, edge: first.edge, routers: own.map(({ router }) => router), links }];
  });
}

/** Sorted by routing key. */
export function keysOf(routers: readonly RouterRecord[]): readonly KeyView[] {
  const found = new Map<string, { readonly listeners: Map<string, number>; readonly connectors: Map<string, number> }>();
  for (const { site, keys } of routers) {
    for (const { routingKey, listeners, connectors } of keys) {
      const key = found.getOrInsertComputed(routingKey, () => ({ listeners: new Map(), connectors: new Map() }));
      raise(key.listeners, site.id, listeners);
      raise(key.connectors, site.id, connectors);
    }
  }
  return [...found]
    .map(([key, { listeners, connectors }]) => ({
      key,
      listeners: countsOf(listeners),
      connectors: countsOf(connectors),
      reachable: connectors.size > 0,
    }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

/** All routers of a site have the same listeners and servers, except those in container networks. So the largest count is the site's. */
function raise(counts: Map<string, number>, site: string, count: number): void {
  if (count > 0) counts.set(site, Math.max(count, counts.get(site) ?? 0));
}

function countsOf(counts: ReadonlyMap<string, number>): readonly SiteCount[] {
  return [...counts].map(([site, count]) => ({ site, count }));
}
