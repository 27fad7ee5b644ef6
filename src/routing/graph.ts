import { type RouterId, MOST_COST } from './contract.ts';
import type { KnownRouter } from './database.ts';
import { LONGEST_PATH } from './limits.ts';
import { EdgeList, type Edges } from './edges.ts';
import { Heap } from './heap.ts';
import { siteOf } from './names.ts';
import { SliceCounter, type Sliced } from '../limits/sliced.ts';

/** A path's length combines its cost and its number of hops in one number: cost * HOPS + hops. */
const HOPS = LONGEST_PATH + 1;

/** An adjacency of this router, as needed for paths. */
export interface OwnEdge {
  readonly router: RouterId;
  readonly cost: number;
  readonly confined?: boolean;
}

/** Least-cost paths from one router to all reachable routers. */
export interface Paths {
  /** Returns undefined if there is no path. */
  costTo(router: RouterId): number | undefined;
  /** Returns the routers from the next hop to the destination, both included. Empty for the router itself and if there is no path. */
  pathTo(router: RouterId): RouterId[];
  /** Reachable routers, nearest first; this router is the first. */
  readonly reachable: readonly RouterId[];
  /** Graph in which the paths were found. */
  readonly graph: Graph;
}

/**
 * Dijkstra's algorithm over the records of the routers.
 *
 * - An edge counts if both ends list it, at the greater of the two costs. So a router can neither invent an edge to another router nor
 *   undercut its neighbour. Of several links between two routers the cheapest counts.
 * - An edge site carries no transit traffic: a path through it begins or ends there. A site is an edge site if one of its routers
 *   announces so. That router must be connected to this one by any edges, since the last record of a router that is gone may be outdated.
 * - Either end of an edge may confine the other: a path over the edge then begins or ends at the other's site. Confined edges between two
 *   routers count only if all edges between them are confined, so that each restricts only itself.
 * - Among paths of equal cost the one with the fewest routers wins. The next criterion is a hash of both ends, so that routers spread
 *   over them.
 * - A predecessor is always nearer than its successor (costs are positive), so no path contains a router twice.
 *
 * Changes between two steps may or may not be included.
 *
 * @param ownEdges the adjacencies that are up, which may be newer than this router's own record
 * @param blocked sites to and through which no path leads
 */
export function* findPaths(
  self: RouterId,
  routers: ReadonlyMap<RouterId, KnownRouter>,
  ownEdges: readonly OwnEdge[],
  blocked: ReadonlySet<string> = new Set(),
): Sliced<Paths> {
  const stride = new SliceCounter();
  const graph = yield* readGraph(self, routers, ownEdges, blocked);
  const { edges, sites, confined } = graph;
  const size = graph.ids.length;
  const lengths = new Float64Array(size).fill(Infinity);
  const from = new Int32Array(size).fill(-1);
  const done = new Uint8Array(size);
  const order: number[] = [];
  const heap = new Heap();
  lengths[0] = 0;
  heap.push(0, 0);
  for (let node = heap.pop(); node !== undefined; node = heap.pop()) {
    if (done[node] === 1) continue;
    done[node] = 1;
    order.push(node);
    if (stride.passed(1 + (edges.starts[node + 1] ?? 0) - (edges.starts[node] ?? 0))) yield;
    const here = lengths[node] ?? 0;
    if (here % HOPS === LONGEST_PATH) continue;
    const inside = confined[node] === 1;
    for (let at = edges.starts[node] ?? 0, end = edges.starts[node + 1] ?? 0; at < end; at += 1) {
      const next = edges.to[at] ?? 0;
      if (done[next] === 1 || (inside && sites[next] !== sites[node])) continue;
      const length = here + (edges.costs[at] ?? 0) * HOPS + 1;
      const known = lengths[next] ?? Infinity;
      if (length > known) continue;
      if (length === known && graph.mix(next, node) >= graph.mix(next, from[next] ?? 0)) continue;
      lengths[next] = length;
      from[next] = node;
      if (length < known) heap.push(next, length);
    }
  }
  const nearest = (router: RouterId): number | undefined => {
    const node = graph.numbers.get(router) ?? -1;
    const twin = graph.twins.get(node) ?? -1;
    const isTwin = done[twin] === 1 && (done[node] !== 1 || (lengths[twin] ?? 0) < (lengths[node] ?? 0));
    return isTwin ? twin : done[node] === 1 ? node : undefined;
  };
  return {
    graph,
    reachable: [...new Set(order.map((node) => graph.ids[node] ?? self))],
    costTo: (router) => {
      const node = nearest(router);
      return node === undefined ? undefined : Math.floor((lengths[node] ?? 0) / HOPS);
    },
    pathTo: (router) => {
      const path: RouterId[] = [];
      let node = nearest(router) ?? 0;
      for (; node > 0; node = from[node] ?? 0) path.push(graph.ids[node] ?? self);
      return path.toReversed();
    },
  };
}

/** Adjacency graph of the routers. */
export interface Graph {
  /** Router ids by node number; this router is node 0. */
  readonly ids: readonly RouterId[];
  readonly numbers: ReadonlyMap<RouterId, number>;
  /** By node: the number of its site in `siteIds`. This router's site is number 0. */
  readonly sites: readonly number[];
  readonly siteIds: readonly string[];
  /** 1 if a path may only continue within the node's site. */
  readonly confined: Uint8Array;
  /** Twin node of each router at which a path may arrive over a confined edge. The path continues from the twin, within its site. */
  readonly twins: ReadonlyMap<number, number>;
  /** Edges that both ends list. */
  readonly edges: Edges;
  /** Orders equal predecessors of a node: the smaller value wins. */
  mix(node: number, predecessor: number): number;
}

/** An edge that counts only for connections of the guest at one of its ends. */
interface ConfinedEdge {
  readonly from: number;
  readonly to: number;
  readonly cost: number;
  /** Whether it leads away from a guest site other than this router's, so that no path of this router can use it. */
  readonly isClosed: boolean;
}

function* readGraph(
  self: RouterId,
  routers: ReadonlyMap<RouterId, KnownRouter>,
  ownEdges: readonly OwnEdge[],
  blocked: ReadonlySet<string>,
): Sliced<Graph> {
  const ids: RouterId[] = [self];
  const numbers = new Map<RouterId, number>([[self, 0]]);
  const nodes: (KnownRouter | undefined)[] = [routers.get(self)];
  const sites = [0];
  const siteNumbers = new Map([[siteOf(self), 0]]);
  for (const router of routers.values()) {
    if (router.about === undefined || router.id === self || blocked.has(router.site)) continue;
    numbers.set(router.id, ids.length);
    ids.push(router.id);
    nodes.push(router);
    sites.push(siteNumbers.getOrInsert(router.site, siteNumbers.size));
  }
  const count = ids.length;
  const listed = yield* listings(nodes, { numbers, sites, ownEdges });
  const { found, confined } = yield* mutual(listed, count, sites);
  const arrivals = confined.filter(({ isClosed }) => !isClosed);
  const edgeSites = new Set<number>();
  const edges = found.of(count);
  for (const node of connected(edges, confined)) if (nodes[node]?.about?.edge === true) edgeSites.add(sites[node] ?? 0);
  const twins = addTwins(ids, sites, found, arrivals);
  const hashes = Uint32Array.from(ids, hashOf);
  const salt = hashes[0] ?? 0;
  return {
    ids,
    numbers,
    sites,
    siteIds: [...siteNumbers.keys()],
    confined: Uint8Array.from(sites, (site, node) => (node >= count || (edgeSites.has(site) && site !== 0) ? 1 : 0)),
    twins,
    edges: twins.size === 0 ? edges : found.of(ids.length),
    mix: (node, predecessor) => Math.imul((hashes[predecessor] ?? 0) ^ salt ^ Math.imul(hashes[node] ?? 0, 0x85ebca6b), 0x9e3779b1) >>> 0,
  };
}

/** Unconfined edges take precedence over all confined ones. */
const weightOf = (cost: number, confined: boolean): number => cost + (confined ? MOST_COST : 0);
const isConfined = (weight: number): boolean => weight > MOST_COST;
const costOf = (weight: number): number => (isConfined(weight) ? weight - MOST_COST : weight);

/** Lists the neighbours of each node once, by weight. */
function* listings(
  nodes: readonly (KnownRouter | undefined)[],
  around: { readonly numbers: ReadonlyMap<RouterId, number>; readonly sites: readonly number[]; readonly ownEdges: readonly OwnEdge[] },
): Sliced<EdgeList> {
  const { numbers, sites, ownEdges } = around;
  const stride = new SliceCounter();
  const listed = new EdgeList();
  const places = new Int32Array(nodes.length).fill(-1);
  for (const [from, node] of nodes.entries()) {
    const first = listed.size;
    const list = (edge: OwnEdge): void => {
      const next = numbers.get(edge.router);
      if (next === undefined || next === from) return;
      // There are no guests within a site.
      const weight = weightOf(edge.cost, edge.confined === true && sites[from] !== sites[next]);
      const place = places[next] ?? -1;
      if (place >= first) {
        listed.lower(place, weight);
        return;
      }
      places[next] = listed.size;
      listed.add(from, next, weight);
    };
    // A for loop would allocate an object for each of many edges.
    if (from === 0) ownEdges.forEach(list);
    else for (const record of node?.parts ?? []) record.neighbours.forEach(list);
    if (stride.passed(1 + listed.size - first)) yield;
  }
  return listed;
}

/** Returns the edges that both ends list, at the greater of their weights. */
function* mutual(
  listed: EdgeList,
  count: number,
  sites: readonly number[],
): Sliced<{ readonly found: EdgeList; readonly confined: readonly ConfinedEdge[] }> {
  const stride = new SliceCounter();
  const found = new EdgeList();
  const confined: ConfinedEdge[] = [];
  const [out, back] = [listed.of(count), listed.turned().of(count)];
  // By node: the position in `back` of its entry for the current node.
  const said = new Int32Array(count).fill(-1);
  for (let from = 0; from < count; from += 1) {
    const first = back.starts[from] ?? 0;
    const end = back.starts[from + 1] ?? 0;
    if (stride.passed(1 + end - first)) yield;
    for (let at = first; at < end; at += 1) said[back.to[at] ?? 0] = at;
    for (let at = out.starts[from] ?? 0, last = out.starts[from + 1] ?? 0; at < last; at += 1) {
      const to = out.to[at] ?? 0;
      const place = said[to] ?? -1;
      if (place < first || place >= end) continue;
      const here = out.costs[at] ?? 0;
      const there = back.costs[place] ?? 0;
      const cost = Math.max(costOf(here), costOf(there));
      const isClosed = isConfined(there) && sites[from] !== 0;
      if (isClosed || (isConfined(here) && sites[to] !== 0)) confined.push({ from, to, cost, isClosed });
      else found.add(from, to, cost);
    }
  }
  return { found, confined };
}

/** Returns all nodes connected to this router by edges of either kind. */
function connected(edges: Edges, confined: readonly ConfinedEdge[]): ReadonlySet<number> {
  const reached = new Set([0]);
  const confinedFrom = Map.groupBy(confined, ({ from }) => from);
  // Iterating over a set includes the values added meanwhile.
  for (const node of reached) {
    for (let at = edges.starts[node] ?? 0, end = edges.starts[node + 1] ?? 0; at < end; at += 1) reached.add(edges.to[at] ?? 0);
    for (const { to } of confinedFrom.get(node) ?? []) reached.add(to);
  }
  return reached;
}

/** Adds twins of the routers at confined edges. Confined edges lead to the twins, which have edges only to each other. */
function addTwins(ids: RouterId[], sites: number[], found: EdgeList, arrivals: readonly ConfinedEdge[]): ReadonlyMap<number, number> {
  const twins = new Map<number, number>();
  if (arrivals.length === 0) return twins;
  const edges = found.of(ids.length);
  const guests = new Set(arrivals.map(({ to }) => sites[to] ?? 0));
  for (let node = 0, count = ids.length; node < count; node += 1) {
    const site = sites[node] ?? 0;
    if (!guests.has(site)) continue;
    twins.set(node, ids.length);
    ids.push(ids[node] ?? '');
    sites.push(site);
  }
  for (const [node, twin] of twins) {
    for (let at = edges.starts[node] ?? 0, end = edges.starts[node + 1] ?? 0; at < end; at += 1) {
      const to = edges.to[at] ?? 0;
      const other = twins.get(to);
      if (other !== undefined && sites[to] === sites[node]) found.add(twin, other, edges.costs[at] ?? 0);
    }
  }
  for (const { from, to, cost } of arrivals) found.add(from, twins.get(to) ?? to, cost);
  return twins;
}

/** FNV-1a hash. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
