/** Paths between sites, as the routers compute them from the announced links (pure). */
import type { NetworkFacts, SiteOfNetwork } from './site-facts.ts';

export interface SitePath {
  /** From this site to the destination. */
  readonly sites: readonly SiteOfNetwork[];
  readonly cost: number;
}

/** The cheapest path from the first site to any of the destinations. Edge sites carry nothing between others. */
export function cheapestPath({ sites }: NetworkFacts, destinations: ReadonlySet<string>): SitePath | undefined {
  const [own] = sites;
  if (own === undefined) return undefined;
  const byId = new Map(sites.map((site) => [site.id, site]));
  const open = new Map<string, SitePath>([[own.id, { sites: [own], cost: 0 }]]);
  const done = new Set<string>();
  for (;;) {
    const next = [...open.values()].toSorted((one, other) => one.cost - other.cost)[0];
    const last = next?.sites.at(-1);
    if (next === undefined || last === undefined) return undefined;
    if (destinations.has(last.id)) return next;
    open.delete(last.id);
    done.add(last.id);
    if (last.isEdge && last !== own) continue;
    for (const { siteId, cost } of last.links) {
      const site = byId.get(siteId);
      const total = next.cost + cost;
      if (site === undefined || done.has(siteId) || (open.get(siteId)?.cost ?? Infinity) <= total) continue;
      open.set(siteId, { sites: [...next.sites, site], cost: total });
    }
  }
}
