/** Counts and links of a network for the views, computed once until its sites or keys change (pure). */

/** A link between two other sites. Both ends announce it; `from` is the one whose site is listed first. */
export interface LinkBetween {
  /** The same for both ends. */
  readonly id: string;
  readonly from: string;
  readonly fromName: string;
  readonly to: string;
  readonly toName: string;
  /** Unknown if the link is down. */
  readonly cost?: number;
}

export interface NetworkIndex {
  /** By ID. */
  readonly siteNames: ReadonlyMap<string, string>;
  /** Number of routing keys by the ID of a site. */
  readonly keysOfSites: ReadonlyMap<string, number>;
  /** Links that are up, by ID. */
  readonly between: ReadonlyMap<string, LinkBetween>;
}

export const noNetwork: NetworkIndex = { siteNames: new Map(), keysOfSites: new Map(), between: new Map() };

type AtSite = { readonly site: string };

interface Network {
  /** This site first. */
  readonly sites: readonly {
    readonly id: string;
    readonly name: string;
    readonly links: readonly { readonly siteId: string; readonly siteName: string; readonly cost: number }[];
  }[];
  readonly keys: readonly { readonly listeners: readonly AtSite[]; readonly connectors: readonly AtSite[] }[];
}

export function indexNetwork({ sites, keys }: Network): NetworkIndex {
  const keysOfSites = new Map<string, number>();
  for (const { listeners, connectors } of keys) {
    for (const site of new Set([...listeners, ...connectors].map((entry) => entry.site)))
      keysOfSites.set(site, (keysOfSites.get(site) ?? 0) + 1);
  }
  const siteNames = new Map(sites.map(({ id, name }) => [id, name]));
  const between = new Map<string, LinkBetween>();
  const own = sites[0]?.id;
  for (const { id: from, name: fromName, links } of sites) {
    for (const { siteId: to, siteName: toName, cost } of links) {
      const id = pairId(from, to);
      if (from !== own && to !== own && !between.has(id)) between.set(id, { id, from, fromName, to, toName, cost });
    }
  }
  return { siteNames, keysOfSites, between };
}

export const pairId = (one: string, other: string): string => (one < other ? `${one}/${other}` : `${other}/${one}`);
