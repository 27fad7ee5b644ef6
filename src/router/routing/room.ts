import type { RouterId, RoutingLimits } from './contract.ts';
import type { KnownRouter } from './database.ts';
import type { Graph, Paths } from './graph.ts';

/** What is held, and how it hangs together. */
export interface Held {
  readonly self: RouterId;
  readonly routers: ReadonlyMap<RouterId, KnownRouter>;
  readonly adjacent: ReadonlySet<RouterId>;
  readonly paths: Paths;
  readonly limits: RoutingLimits;
}

/**
 * Which routers are to be forgotten so that what is held keeps to its limits. Nobody else's room is for one site to take:
 *
 * - Of one site stay the adjacent routers, and of others as many as a site may have, nearest first.
 * - Then those go that cannot be reached, the one with the greatest id first.
 * - Then it is the turn of whoever has most. A site has what it is itself, and all that can be reached only through it, for it can
 *   invent as much of that as it likes. So of the sites with nobody between them and us the one that has most is chosen, of
 *   those right behind it again, and so on to the last, which loses its farthest router. Of equals the farthest loses, and then the
 *   one with the greatest id, so that routers which are told the same hold the same.
 * - An adjacent router goes only for its bytes, and for what it lists.
 */
export function givesWay(held: Held): readonly RouterId[] {
  const gone = new Set<RouterId>();
  beyondSites(held, gone);
  const rest = (): KnownRouter[] => [...held.routers.values()].filter(({ id }) => !gone.has(id));
  const { limits } = held;
  const nobody = new Set<RouterId>();
  for (const [most, weigh, spared] of [
    [limits.routers, () => 1, held.adjacent],
    [limits.databaseBytes, ({ bytes }: KnownRouter) => bytes, nobody],
    [limits.neighbours, ({ neighbours }: KnownRouter) => neighbours, nobody],
    [limits.keys, ({ keys }: KnownRouter) => keys, nobody],
  ] as const) {
    const all = rest().filter((router) => weigh(router) > 0);
    let excess = all.reduce((sum, router) => sum + weigh(router), 0) - most;
    if (excess <= 0) continue;
    for (const router of inOrder(held, all, weigh, spared)) {
      gone.add(router.id);
      excess -= weigh(router);
      if (excess <= 0) break;
    }
  }
  return [...gone];
}

function beyondSites({ self, routers, adjacent, paths, limits }: Held, gone: Set<RouterId>): void {
  const sites = Map.groupBy(routers.values(), ({ site }) => site);
  for (const all of sites.values()) {
    if (all.length <= limits.routersOfSite) continue;
    const [kept, others] = [true, false].map((near) => all.filter(({ id }) => (id === self || adjacent.has(id)) === near));
    const room = Math.max(0, limits.routersOfSite - (kept?.length ?? 0));
    for (const { id } of others?.sort(nearestFirst(paths)).slice(room) ?? []) gone.add(id);
  }
}

/** Who goes first, and so on. */
function* inOrder(
  { self, adjacent, paths }: Held,
  all: readonly KnownRouter[],
  weigh: (router: KnownRouter) => number,
  spared: ReadonlySet<RouterId>,
): Generator<KnownRouter> {
  const isLost = ({ id }: KnownRouter): boolean => id !== self && !adjacent.has(id) && paths.costTo(id) === undefined;
  const nearer = nearestFirst(paths);
  yield* all.filter(isLost).toSorted(nearer).toReversed();
  const tree = new Tree(paths.graph);
  for (const router of all.filter((one) => !isLost(one)).sort(nearer)) {
    tree.put(router, weigh(router), router.id !== self && !spared.has(router.id));
  }
  for (let next = tree.take(weigh); next !== undefined; next = tree.take(weigh)) yield next;
}

/**
 * One order for all limits: were there two, each could bring back what the other let go. And no router comes to stand better in it by being told of again, as
 * by its age: that is told in whole seconds, so each time a router seems a little younger. Ids can be chosen: a small one lets a router outlast others
 * that cannot be reached either.
 */
function nearestFirst(paths: Paths): (left: KnownRouter, right: KnownRouter) => number {
  const costs = new Map<KnownRouter, number>();
  const cost = (router: KnownRouter): number => costs.getOrInsertComputed(router, ({ id }) => paths.costTo(id) ?? Number.MAX_SAFE_INTEGER);
  return (left, right) => cost(left) - cost(right) || (left.id < right.id ? -1 : 1);
}

/** Sites, each below the last one that all paths from us to it pass. */
class Tree {
  readonly #sites = new Map<string, Branch>();
  readonly #root: Branch;
  #rank = 0;

  constructor({ sites, siteIds, edges }: Graph) {
    const neighbours = siteIds.map(() => new Set<number>());
    for (const [node, site] of sites.entries()) {
      for (let at = edges.starts[node] ?? 0, end = edges.starts[node + 1] ?? 0; at < end; at += 1) {
        const other = sites[edges.to[at] ?? 0] ?? 0;
        // Edges that are confined lead one way only.
        neighbours[site]?.add(other);
        neighbours[other]?.add(site);
      }
    }
    this.#root = { above: undefined, below: [], routers: [], weight: 0, left: 0, rank: 0 };
    const idOf = (site: number): string => siteIds[site] ?? '';
    this.#sites.set(idOf(0), this.#root);
    // Whoever is above another comes before it.
    for (const [site, parent] of bottlenecks(neighbours)) this.#add(idOf(site), this.#sites.get(idOf(parent)) ?? this.#root);
  }

  #add(site: string, above: Branch): Branch {
    const branch: Branch = { above, below: [], routers: [], weight: 0, left: 0, rank: 0 };
    above.below.push(branch);
    this.#sites.set(site, branch);
    return branch;
  }

  /** Nearest first. */
  put(router: KnownRouter, weight: number, mayGo: boolean): void {
    // One that is adjacent may not have said so yet.
    const branch = this.#sites.get(router.site) ?? this.#add(router.site, this.#root);
    this.#rank += 1;
    if (branch.rank === 0) branch.rank = this.#rank;
    if (mayGo) branch.routers.push(router);
    count(branch, weight, mayGo ? 1 : 0);
  }

  take(weigh: (router: KnownRouter) => number): KnownRouter | undefined {
    let at = this.#root;
    for (let next = heaviest(at); next !== undefined; next = heaviest(at)) at = next;
    const router = at.routers.pop();
    if (router !== undefined) count(at, -weigh(router), -1);
    return router;
  }
}

interface Branch {
  readonly above: Branch | undefined;
  readonly below: Branch[];
  /** That may go, nearest first. */
  readonly routers: KnownRouter[];
  /** With all below: of all routers, and how many of them may go. */
  weight: number;
  left: number;
  /** The place of its nearest router among all, nearest first. */
  rank: number;
}

function heaviest({ below }: Branch): Branch | undefined {
  let chosen: Branch | undefined;
  for (const branch of below) {
    if (branch.left === 0) continue;
    if (chosen === undefined || branch.weight > chosen.weight || (branch.weight === chosen.weight && branch.rank > chosen.rank))
      chosen = branch;
  }
  return chosen;
}

function count(branch: Branch, weight: number, left: number): void {
  for (let at: Branch | undefined = branch; at !== undefined; at = at.above) {
    at.weight += weight;
    at.left += left;
  }
}

/**
 * For each that can be reached from number 0, the last other one that all ways to it pass: where graphs have no direction, the
 * nearest articulation point towards the root (Hopcroft and Tarjan, Algorithm 447), in one walk and without recursion. Each
 * comes after the one above it.
 */
export function bottlenecks(neighbours: readonly ReadonlySet<number>[]): ReadonlyMap<number, number> {
  // The place of each among all that were found, from 1.
  const found = new Map([[0, 1]]);
  const low = new Map([[0, 1]]);
  const above = new Map<number, number>();
  const open: number[] = [];
  const way = [{ at: 0, rest: [...(neighbours[0] ?? [])] }];
  const lower = (at: number, to: number): void => void low.set(at, Math.min(low.get(at) ?? Infinity, to));
  for (let step = way.at(-1); step !== undefined; step = way.at(-1)) {
    const next = step.rest.pop();
    const known = next === undefined ? undefined : found.get(next);
    if (next !== undefined && known === undefined) {
      found.set(next, found.size + 1);
      low.set(next, found.size);
      open.push(next);
      way.push({ at: next, rest: [...(neighbours[next] ?? [])] });
    } else if (known !== undefined) lower(step.at, known);
    else {
      way.pop();
      const before = way.at(-1)?.at;
      if (before === undefined) break;
      const lowest = low.get(step.at) ?? 0;
      lower(before, lowest);
      if (lowest < (found.get(before) ?? 0)) continue;
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        above.set(member, before);
        if (member === step.at) break;
      }
    }
  }
  // In the order in which they were found.
  return new Map([...found.keys()].flatMap((site) => (site === 0 ? [] : [[site, above.get(site) ?? 0] as const])));
}
