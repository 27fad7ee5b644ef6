/** Paths between sites, as the routers compute them from the announced links (pure). */
import { Heap } from '../../routing/heap.ts';
import type { NetworkFacts, SiteOfNetwork } from './site-facts.ts';

export interface SitePath {
  /** From this site to the destination. */
  readonly sites: readonly SiteOfNetwork[];
  readonly cost: number;
}

/** Part of a site that decides about paths. Edge sites carry nothing between others. */
export type PathSite = Pick<SiteOfNetwork, 'id' | 'isEdge' | 'links'>;

/** A site with a path to or from a start. */
export interface ReachedSite {
  readonly cost: number;
  /** IDs of its neighbours on the paths of least cost, all nearer to a start. Empty for a start. */
  readonly next: readonly string[];
}

/** The cheapest path from the first site to any of the destinations. */
export function cheapestPath({ sites }: NetworkFacts, destinations: ReadonlySet<string>): SitePath | undefined {
  const [own] = sites;
  const reached = reachSites(sites, destinations, 'to');
  const cost = reached.get(own?.id ?? '')?.cost;
  if (own === undefined || cost === undefined) return undefined;
  const byId = new Map(sites.map((site) => [site.id, site]));
  return { sites: followPath(reached, own.id).flatMap((id) => byId.get(id) ?? []), cost };
}

/**
 * Dijkstra's algorithm from several starts at once.
 * @param direction of the paths: `from` the starts, or `to` the nearest of them
 */
export function reachSites(
  sites: readonly PathSite[],
  starts: ReadonlySet<string>,
  direction: 'from' | 'to',
): ReadonlyMap<string, ReachedSite> {
  const numbers = new Map(sites.map(({ id }, number) => [id, number]));
  const neighbours = neighboursOf(sites, numbers, direction);
  const costs = new Float64Array(sites.length).fill(Infinity);
  const next = sites.map((): string[] => []);
  const reached = new Map<string, ReachedSite>();
  const heap = new Heap();
  for (const id of starts) {
    const number = numbers.get(id);
    if (number === undefined) continue;
    costs[number] = 0;
    heap.push(number, 0);
  }
  for (let number = heap.pop(); number !== undefined; number = heap.pop()) {
    const [site, cost] = [sites[number], costs[number] ?? 0];
    if (site === undefined || reached.has(site.id)) continue;
    reached.set(site.id, { cost, next: next[number] ?? [] });
    if (site.isEdge && !starts.has(site.id)) continue;
    for (const neighbour of neighbours[number] ?? []) {
      const [known, total] = [costs[neighbour.number] ?? Infinity, cost + neighbour.cost];
      if (total > known) continue;
      if (total === known) next[neighbour.number]?.push(site.id);
      else next[neighbour.number] = [site.id];
      costs[neighbour.number] = total;
      if (total < known) heap.push(neighbour.number, total);
    }
  }
  return reached;
}

interface Neighbour {
  readonly number: number;
  readonly cost: number;
}

function neighboursOf(
  sites: readonly PathSite[],
  numbers: ReadonlyMap<string, number>,
  direction: 'from' | 'to',
): readonly (readonly Neighbour[])[] {
  const neighbours = sites.map((): Neighbour[] => []);
  for (const [from, { links }] of sites.entries()) {
    for (const { siteId, cost: announced } of links) {
      const to = numbers.get(siteId);
      if (to === undefined || to === from) continue;
      // Sites announce positive costs. With others, the neighbours of a path could form a cycle.
      const cost = Math.max(1, announced);
      if (direction === 'from') neighbours[from]?.push({ number: to, cost });
      else neighbours[to]?.push({ number: from, cost });
    }
  }
  return neighbours;
}

/** IDs from a reached site to a start, the site itself first. @param choose the next of several equal neighbours */
export function followPath(
  reached: ReadonlyMap<string, ReachedSite>,
  from: string,
  choose: (next: readonly string[]) => string | undefined = ([first]) => first,
): readonly string[] {
  const path: string[] = [];
  for (let at: string | undefined = from; at !== undefined; at = choose(reached.get(at)?.next ?? [])) path.push(at);
  return path;
}
