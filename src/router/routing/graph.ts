import type { RouterId } from './contract.ts';
import type { KnownRouter } from './database.ts';
import { LONGEST_PATH } from './limits.ts';
import { MOST_COST } from '../wire.ts';
import { siteOf } from './names.ts';

/** An adjacency of this router, as far as paths need it. */
export interface OwnEdge {
  readonly router: RouterId;
  readonly cost: number;
  readonly confined?: boolean;
}

/** Least-cost paths from one router to all that it can reach. */
export interface Paths {
  /** Undefined where there is no path. */
  costTo(router: RouterId): number | undefined;
  /** From the next hop to the router, both included. Empty for the router itself and where there is no path. */
  pathTo(router: RouterId): RouterId[];
  /** Nearest first, this router before all. */
  readonly reachable: readonly RouterId[];
  /** That they lead through. */
  readonly graph: Graph;
}

/**
 * Dijkstra's algorithm over what the routers say of themselves.
 *
 * - An edge counts where both ends list it, at the greater of the costs that they list, so that a router can neither invent an
 *   edge to another nor make one cheaper than its neighbour says. Of several links between two routers the cheapest counts.
 * - Through an edge site a path leads only within that site: it begins or ends there. A site is an edge site where one of its
 *   routers says so; one that is connected to us by whatever edges, for what one that is gone said last may be outdated.
 * - Either end of an edge may confine the other to it: then a path over the edge begins or ends at the other's site. Only where all edges
 *   to a router are confined do they count, so that each says no more than that of its own.
 * - Of paths of equal cost the one with fewer routers is taken, and then one by a hash of both ends, so that different routers
 *   spread over them.
 * - A predecessor is always nearer than its successor (costs are positive), so no path holds a router twice.
 *
 * @param ownEdges the adjacencies that are up, which may be ahead of this router's own record
 * @param blocked sites to and through which no path leads
 */
export function findPaths(
  self: RouterId,
  routers: ReadonlyMap<RouterId, KnownRouter>,
  ownEdges: readonly OwnEdge[],
  blocked: ReadonlySet<string> = new Set(),
): Paths {
  const graph = readGraph(self, routers, ownEdges, blocked);
  const size = graph.ids.length;
  const cost = new Float64Array(size).fill(Infinity);
  const hops = new Uint32Array(size);
  const from = new Int32Array(size).fill(-1);
  const done = new Uint8Array(size);
  const order: number[] = [];
  const heap = new Heap(cost, hops);
  cost[0] = 0;
  heap.push(0);
  for (let node = heap.pop(); node !== undefined; node = heap.pop()) {
    if (done[node] === 1) continue;
    done[node] = 1;
    order.push(node);
    const hop = (hops[node] ?? 0) + 1;
    if (hop > LONGEST_PATH) continue;
    const here = cost[node] ?? 0;
    const inside = graph.confined[node] === 1;
    for (const { to: next, cost: weight } of graph.edges[node] ?? []) {
      if (done[next] === 1 || (inside && graph.sites[next] !== graph.sites[node])) continue;
      const length = here + weight;
      const known = cost[next] ?? Infinity;
      const knownHops = hops[next] ?? 0;
      if (length > known || (length === known && hop > knownHops)) continue;
      if (length === known && hop === knownHops && graph.mix(next, node) >= graph.mix(next, from[next] ?? 0)) continue;
      const better = length < known || hop < knownHops;
      cost[next] = length;
      hops[next] = hop;
      from[next] = node;
      if (better) heap.push(next);
    }
  }
  const nearest = (router: RouterId): number | undefined => {
    const node = graph.numbers.get(router) ?? -1;
    const twin = graph.twins.get(node) ?? -1;
    const isTwin = done[twin] === 1 && (done[node] !== 1 || (cost[twin] ?? 0) < (cost[node] ?? 0));
    return isTwin ? twin : done[node] === 1 ? node : undefined;
  };
  return {
    graph,
    reachable: [...new Set(order.map((node) => graph.ids[node] ?? self))],
    costTo: (router) => cost[nearest(router) ?? -1],
    pathTo: (router) => {
      const path: RouterId[] = [];
      let node = nearest(router) ?? 0;
      for (; node > 0; node = from[node] ?? 0) path.push(graph.ids[node] ?? self);
      return path.toReversed();
    },
  };
}

/** Who is next to whom. */
export interface Graph {
  /** This router is number 0. */
  readonly ids: readonly RouterId[];
  readonly numbers: ReadonlyMap<RouterId, number>;
  readonly sites: readonly string[];
  /** 1 where a path may only go on within the node's site. */
  readonly confined: Uint8Array;
  /** Of routers at which paths may arrive over a confined edge: where such a path goes on from, within their site. */
  readonly twins: ReadonlyMap<number, number>;
  /** By node: those that both ends list. */
  readonly edges: readonly (readonly Edge[])[];
  /** Which of two equal predecessors a node takes: the smaller. */
  mix(node: number, predecessor: number): number;
}

/** One that counts for connections of the guest at one of its ends only. */
interface ConfinedEdge extends Edge {
  readonly from: number;
  /** It leads away from a guest, and nothing of ours begins there. */
  readonly isClosed: boolean;
}

export interface Edge {
  readonly to: number;
  readonly cost: number;
}

function readGraph(
  self: RouterId,
  routers: ReadonlyMap<RouterId, KnownRouter>,
  ownEdges: readonly OwnEdge[],
  blocked: ReadonlySet<string>,
): Graph {
  const ids: RouterId[] = [self];
  const numbers = new Map<RouterId, number>([[self, 0]]);
  const nodes: (KnownRouter | undefined)[] = [routers.get(self)];
  for (const router of routers.values()) {
    if (router.about === undefined || router.id === self || blocked.has(router.site)) continue;
    numbers.set(router.id, ids.length);
    ids.push(router.id);
    nodes.push(router);
  }
  const sites = ids.map(siteOf);
  const count = ids.length;
  const { starts, to: targets, weights } = listings(nodes, { numbers, sites, ownEdges });
  const back = turned(starts, targets);
  const edges: Edge[][] = ids.map(() => []);
  const confined: ConfinedEdge[] = [];
  // Where in `back` is what a node says of the one that is looked at.
  const said = new Int32Array(count).fill(-1);
  for (let from = 0; from < count; from += 1) {
    const [first = 0, end = 0] = [back.starts[from], back.starts[from + 1]];
    for (let at = first; at < end; at += 1) said[back.from[at] ?? 0] = at;
    for (let at = starts[from] ?? 0; at < (starts[from + 1] ?? 0); at += 1) {
      const next = targets[at] ?? 0;
      const found = said[next] ?? -1;
      if (found < first || found >= end) continue;
      const [here, there] = [weights[at] ?? 0, weights[back.listed[found] ?? 0] ?? 0];
      const cost = Math.max(costOf(here), costOf(there));
      const isClosed = isConfined(there) && sites[from] !== sites[0];
      if (isClosed || (isConfined(here) && sites[next] !== sites[0])) confined.push({ from, to: next, cost, isClosed });
      else edges[from]?.push({ to: next, cost });
    }
  }
  const connected = new Set([0]);
  const confinedFrom = Map.groupBy(confined, ({ from }) => from);
  // A set gives what is added while it is read.
  for (const node of connected) {
    for (const { to } of edges[node] ?? []) connected.add(to);
    for (const { to } of confinedFrom.get(node) ?? []) connected.add(to);
  }
  const edgeSites = new Set([...connected].filter((node) => nodes[node]?.about?.edge === true).map((node) => sites[node]));
  const arrivals = confined.filter(({ isClosed }) => !isClosed);
  const twins = addTwins(ids, sites, edges, arrivals);
  const hashes = Uint32Array.from(ids, hashOf);
  const salt = hashes[0] ?? 0;
  return {
    ids,
    numbers,
    sites,
    confined: Uint8Array.from(sites, (site, node) => (node >= count || (edgeSites.has(site) && site !== sites[0]) ? 1 : 0)),
    twins,
    edges,
    mix: (node, predecessor) => Math.imul((hashes[predecessor] ?? 0) ^ salt ^ Math.imul(hashes[node] ?? 0, 0x85ebca6b), 0x9e3779b1) >>> 0,
  };
}

/** Whom each node lists, each once: those of node N stand from `starts[N]` to `starts[N + 1]`. Costs are at most `MOST_COST`. */
interface Listings {
  readonly starts: Int32Array;
  readonly to: readonly number[];
  readonly weights: readonly number[];
}

/** One that is not confined goes before all that are. */
const weightOf = (cost: number, confined: boolean): number => cost + (confined ? MOST_COST : 0);
const isConfined = (weight: number): boolean => weight > MOST_COST;
const costOf = (weight: number): number => (isConfined(weight) ? weight - MOST_COST : weight);

function listings(
  nodes: readonly (KnownRouter | undefined)[],
  around: { readonly numbers: ReadonlyMap<RouterId, number>; readonly sites: readonly string[]; readonly ownEdges: readonly OwnEdge[] },
): Listings {
  const { numbers, sites, ownEdges } = around;
  const starts = new Int32Array(nodes.length + 1);
  const [to, weights]: [number[], number[]] = [[], []];
  const places = new Int32Array(nodes.length).fill(-1);
  for (const [from, node] of nodes.entries()) {
    const first = to.length;
    const list = ({ router, cost, confined = false }: OwnEdge): void => {
      const next = numbers.get(router);
      if (next === undefined || next === from) return;
      // Within a site nobody is a guest.
      const weight = weightOf(cost, confined && sites[from] !== sites[next]);
      const place = places[next] ?? -1;
      if (place >= first) {
        weights[place] = Math.min(weights[place] ?? weight, weight);
        return;
      }
      places[next] = to.length;
      to.push(next);
      weights.push(weight);
    };
    if (from === 0) ownEdges.forEach(list);
    else for (const record of node?.parts ?? []) record?.neighbours.forEach(list);
    starts[from + 1] = to.length;
  }
  return { starts, to, weights };
}

/** By whom each node is listed, and where. */
function turned(
  starts: Int32Array,
  to: readonly number[],
): { readonly starts: Int32Array; readonly from: Int32Array; readonly listed: Int32Array } {
  const count = starts.length - 1;
  const ends = new Int32Array(count + 1);
  for (const node of to) ends[node + 1] = (ends[node + 1] ?? 0) + 1;
  for (let node = 0; node < count; node += 1) ends[node + 1] = (ends[node + 1] ?? 0) + (ends[node] ?? 0);
  const next = ends.slice();
  const [from, listed] = [new Int32Array(to.length), new Int32Array(to.length)];
  for (let node = 0; node < count; node += 1) {
    for (let at = starts[node] ?? 0; at < (starts[node + 1] ?? 0); at += 1) {
      const target = to[at] ?? 0;
      const place = next[target] ?? 0;
      next[target] = place + 1;
      from[place] = node;
      listed[place] = at;
    }
  }
  return { starts: ends, from, listed };
}

/** Confined edges lead to twins of the routers at their ends, which have edges to each other only. Adds both. */
function addTwins(ids: RouterId[], sites: string[], edges: Edge[][], arrivals: readonly ConfinedEdge[]): ReadonlyMap<number, number> {
  const twins = new Map<number, number>();
  const guests = new Set(arrivals.map(({ to }) => sites[to]));
  for (let node = 0, count = ids.length; node < count; node += 1) {
    const site = sites[node] ?? '';
    if (!guests.has(site)) continue;
    twins.set(node, ids.length);
    ids.push(ids[node] ?? '');
    sites.push(site);
    edges.push([]);
  }
  for (const [node, twin] of twins) {
    for (const { to, cost } of edges[node] ?? []) {
      const other = twins.get(to);
      if (other !== undefined && sites[to] === sites[node]) edges[twin]?.push({ to: other, cost });
    }
  }
  for (const { from, to, cost } of arrivals) edges[from]?.push({ to: twins.get(to) ?? to, cost });
  return twins;
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** A binary heap of nodes by cost, then hops. A node whose cost fell is pushed again; the older entry is skipped when it comes. */
class Heap {
  readonly #nodes: number[] = [];
  readonly #costs: number[] = [];
  readonly #hops: number[] = [];
  readonly #cost: Float64Array;
  readonly #hop: Uint32Array;

  constructor(cost: Float64Array, hop: Uint32Array) {
    this.#cost = cost;
    this.#hop = hop;
  }

  push(node: number): void {
    let at = this.#nodes.length;
    const cost = this.#cost[node] ?? 0;
    const hop = this.#hop[node] ?? 0;
    this.#set(at, node, cost, hop);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#less(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): number | undefined {
    const top = this.#nodes[0];
    const last = this.#nodes.length - 1;
    if (last < 0) return undefined;
    this.#swap(0, last);
    this.#nodes.pop();
    this.#costs.pop();
    this.#hops.pop();
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < last && this.#less(child, least)) least = child;
      if (least === at) return top;
      this.#swap(at, least);
      at = least;
    }
  }

  #less(left: number, right: number): boolean {
    const difference = (this.#costs[left] ?? 0) - (this.#costs[right] ?? 0);
    return difference < 0 || (difference === 0 && (this.#hops[left] ?? 0) < (this.#hops[right] ?? 0));
  }

  #set(at: number, node: number, cost: number, hop: number): void {
    this.#nodes[at] = node;
    this.#costs[at] = cost;
    this.#hops[at] = hop;
  }

  #swap(left: number, right: number): void {
    const [node, cost, hop] = [this.#nodes[left] ?? 0, this.#costs[left] ?? 0, this.#hops[left] ?? 0];
    this.#set(left, this.#nodes[right] ?? 0, this.#costs[right] ?? 0, this.#hops[right] ?? 0);
    this.#set(right, node, cost, hop);
  }
}
