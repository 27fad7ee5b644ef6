import type { RouterId, RoutingLimits } from './contract.ts';
import type { KnownRouter } from './database.ts';
import type { Graph, Paths } from './graph.ts';
import { SliceCounter, type Sliced } from '../limits/sliced.ts';

/** Stored routers and the graph between them. */
export interface Held {
  readonly self: RouterId;
  readonly routers: ReadonlyMap<RouterId, KnownRouter>;
  readonly adjacent: ReadonlySet<RouterId>;
  readonly paths: Paths;
  readonly limits: RoutingLimits;
}

/**
 * Chooses the routers to forget so that the limits hold. No site can take the capacity of others:
 *
 * - Each site keeps its adjacent routers, and its nearest others up to the site's limit.
 * - Then unreachable routers are evicted, the greatest id first.
 * - Then the largest subtree loses its farthest router. A site is charged for everything reachable only through it, since it can invent
 *   any amount of that. From this router down, the heaviest site is chosen at each level. Ties evict the farthest, then the greatest id,
 *   so that routers with the same records evict the same ones.
 * - An adjacent router is evicted only for its bytes, neighbours or keys.
 */
export function* chooseEvictions(held: Held): Sliced<readonly RouterId[]> {
  const { self, adjacent, limits, paths } = held;
  const stride = new SliceCounter();
  const all = nearestFirst(held);
  if (stride.passed(all.length)) yield;
  const gone = new Set<RouterId>();
  beyondSites(held, all, gone);
  const nobody = new Set<RouterId>();
  for (const [most, weigh, spared] of [
    [limits.routers, () => 1, adjacent],
    [limits.databaseBytes, ({ bytes }: KnownRouter) => bytes, nobody],
    [limits.neighbours, ({ neighbours }: KnownRouter) => neighbours, nobody],
    [limits.keys, ({ keys }: KnownRouter) => keys, nobody],
  ] as const) {
    const rest = all.filter(({ router }) => !gone.has(router.id) && weigh(router) > 0);
    let excess = rest.reduce((sum, { router }) => sum + weigh(router), 0) - most;
    if (stride.passed(all.length)) yield;
    if (excess <= 0) continue;
    const isLost = ({ router: { id }, cost }: Ranked): boolean => id !== self && !adjacent.has(id) && cost === UNREACHABLE;
    const lost = rest.filter(isLost).toReversed();
    const tree = yield* Tree.grow(paths.graph);
    for (const one of rest) {
      if (stride.passed()) yield;
      if (!isLost(one)) tree.put(one.router, weigh(one.router), one.router.id !== self && !spared.has(one.router.id));
    }
    for (let next = lost.shift()?.router ?? tree.take(weigh); next !== undefined; next = lost.shift()?.router ?? tree.take(weigh)) {
      // The choice scans all siblings at each level of the tree.
      if (stride.passed(64)) yield;
      gone.add(next.id);
      excess -= weigh(next);
      if (excess <= 0) break;
    }
  }
  return [...gone];
}

interface Ranked {
  readonly router: KnownRouter;
  readonly cost: number;
}

const UNREACHABLE = Number.MAX_SAFE_INTEGER;

/**
 * All limits use one order: with two orders, each could re-admit what the other evicted. The announced age must not count, since it is in
 * whole seconds and repeating it makes a router seem younger. Ids can be chosen: a small one only helps to outlast other unreachable
 * routers.
 */
function nearestFirst({ routers, paths }: Held): readonly Ranked[] {
  const all = [...routers.values()].map((router) => ({ router, cost: paths.costTo(router.id) ?? UNREACHABLE }));
  return all.sort((left, right) => left.cost - right.cost || (left.router.id < right.router.id ? -1 : 1));
}

/** @param all nearest first */
function beyondSites({ self, adjacent, limits }: Held, all: readonly Ranked[], gone: Set<RouterId>): void {
  for (const ranked of Map.groupBy(all, ({ router }) => router.site).values()) {
    if (ranked.length <= limits.routersOfSite) continue;
    const others = ranked.filter(({ router: { id } }) => id !== self && !adjacent.has(id));
    const room = Math.max(0, limits.routersOfSite - (ranked.length - others.length));
    for (const { router } of others.slice(room)) gone.add(router.id);
  }
}

/** Dominator tree of sites: each is below the last site that all paths from this router to it pass. */
class Tree {
  readonly #sites = new Map<string, Branch>();
  readonly #root: Branch;
  #rank = 0;

  private constructor() {
    this.#root = { above: undefined, below: [], routers: [], weight: 0, left: 0, rank: 0 };
  }

  static *grow({ sites, siteIds, edges }: Graph): Sliced<Tree> {
    const stride = new SliceCounter();
    const neighbours = siteIds.map(() => new Set<number>());
    for (const [node, site] of sites.entries()) {
      if (stride.passed(1 + (edges.starts[node + 1] ?? 0) - (edges.starts[node] ?? 0))) yield;
      for (let at = edges.starts[node] ?? 0, end = edges.starts[node + 1] ?? 0; at < end; at += 1) {
        const other = sites[edges.to[at] ?? 0] ?? 0;
        // Confined edges have one direction only.
        neighbours[site]?.add(other);
        neighbours[other]?.add(site);
      }
    }
    const tree = new Tree();
    const idOf = (site: number): string => siteIds[site] ?? '';
    tree.#sites.set(idOf(0), tree.#root);
    // A parent precedes its children.
    for (const [site, parent] of yield* bottlenecks(neighbours)) tree.#add(idOf(site), tree.#sites.get(idOf(parent)) ?? tree.#root);
    return tree;
  }

  #add(site: string, above: Branch): Branch {
    const branch: Branch = { above, below: [], routers: [], weight: 0, left: 0, rank: 0 };
    above.below.push(branch);
    this.#sites.set(site, branch);
    return branch;
  }

  /** Adds a router. Must be called nearest first. */
  put(router: KnownRouter, weight: number, mayGo: boolean): void {
    // An adjacent router may not have announced the link yet.
    const branch = this.#sites.get(router.site) ?? this.#add(router.site, this.#root);
    this.#rank += 1;
    if (branch.rank === 0) branch.rank = this.#rank;
    if (mayGo) branch.routers.push(router);
    count(branch, weight, mayGo ? 1 : 0);
  }

  /** Removes and returns the next router to evict. */
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
  /** Routers that may be evicted, nearest first. */
  readonly routers: KnownRouter[];
  /** Total weight of all routers in the subtree, and the number of those that may be evicted. */
  weight: number;
  left: number;
  /** Rank of its nearest router among all routers, nearest first. */
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
 * For each node reachable from node 0, finds the last other node that all paths to it pass. In an undirected graph that is the nearest
 * articulation point towards the root (Hopcroft and Tarjan, Algorithm 447). One walk without recursion; parents come first in the result.
 */
export function* bottlenecks(neighbours: readonly ReadonlySet<number>[]): Sliced<ReadonlyMap<number, number>> {
  const stride = new SliceCounter();
  // Discovery number of each node, from 1.
  const found = new Map([[0, 1]]);
  const low = new Map([[0, 1]]);
  const above = new Map<number, number>();
  const open: number[] = [];
  const way = [{ at: 0, rest: [...(neighbours[0] ?? [])] }];
  const lower = (at: number, to: number): void => void low.set(at, Math.min(low.get(at) ?? Infinity, to));
  for (let step = way.at(-1); step !== undefined; step = way.at(-1)) {
    if (stride.passed()) yield;
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
  // In the order of discovery.
  return new Map([...found.keys()].flatMap((site) => (site === 0 ? [] : [[site, above.get(site) ?? 0] as const])));
}
