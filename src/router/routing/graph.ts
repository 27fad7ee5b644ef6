import type { RouterId } from './contract.ts';
import type { KnownRouter } from './database.ts';
import { LONGEST_PATH } from './limits.ts';
import { siteOf } from './names.ts';

/** An adjacency of this router, as far as paths need it. */
export interface OwnEdge {
  readonly router: RouterId;
  readonly cost: number;
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
  return {
    graph,
    reachable: order.map((node) => graph.ids[node] ?? self),
    costTo: (router) => {
      const node = graph.numbers.get(router);
      return node === undefined || done[node] !== 1 ? undefined : cost[node];
    },
    pathTo: (router) => {
      const path: RouterId[] = [];
      let node = graph.numbers.get(router) ?? 0;
      if (done[node] !== 1) return path;
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
  /** By node: those that both ends list. */
  readonly edges: readonly (readonly Edge[])[];
  /** Which of two equal predecessors a node takes: the smaller. */
  mix(node: number, predecessor: number): number;
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
  // The cost that one end lists, by both.
  const listed = new Map<number, number>();
  const list = (from: number, router: RouterId, cost: number): void => {
    const to = numbers.get(router);
    if (to === undefined || to === from) return;
    const both = from * ids.length + to;
    listed.set(both, Math.min(cost, listed.get(both) ?? Infinity));
  };
  for (const edge of ownEdges) list(0, edge.router, edge.cost);
  for (const [number, node] of nodes.entries()) {
    if (number === 0 || node === undefined) continue;
    for (const record of node.parts) for (const neighbour of record?.neighbours ?? []) list(number, neighbour.router, neighbour.cost);
  }
  const edges: Edge[][] = ids.map(() => []);
  for (const [both, cost] of listed) {
    const from = Math.floor(both / ids.length);
    const to = both % ids.length;
    const back = listed.get(to * ids.length + from);
    if (back !== undefined) edges[from]?.push({ to, cost: Math.max(cost, back) });
  }
  const connected = new Set([0]);
  // A set gives what is added while it is read.
  for (const node of connected) for (const { to } of edges[node] ?? []) connected.add(to);
  const edgeSites = new Set([...connected].filter((node) => nodes[node]?.about?.edge === true).map((node) => sites[node]));
  const hashes = Uint32Array.from(ids, hashOf);
  const salt = hashes[0] ?? 0;
  return {
    ids,
    numbers,
    sites,
    confined: Uint8Array.from(sites, (site) => (edgeSites.has(site) && site !== sites[0] ? 1 : 0)),
    edges,
    mix: (node, predecessor) => Math.imul((hashes[predecessor] ?? 0) ^ salt ^ Math.imul(hashes[node] ?? 0, 0x85ebca6b), 0x9e3779b1) >>> 0,
  };
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
