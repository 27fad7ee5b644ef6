import { performance } from 'node:perf_hooks';
import {
  type Adjacency,
  type RouteDestination,
  type RouterId,
  type RouterPath,
  type RoutingLimits,
  type RouterRecord,
  MOST_COST,
} from './contract.ts';
import type { Change, KnownRouter } from './database.ts';
import { findPaths } from './graph.ts';
import type { Paths } from './graph.ts';
import { KeyIndex } from './key-index.ts';
import { AT_A_TIME, choiceTime, DESTINATIONS_OF_KEY, pathTime } from './limits.ts';
import { siteOf } from './names.ts';
import { eachKey, type KeyCount, type Neighbour, type RouteRecord } from './record.ts';
import { chooseEvictions } from './eviction.ts';
import { runToEnd, runSlice, type Sliced } from '../limits/sliced.ts';
import { CpuBudget } from '../limits/cpu-budget.ts';

/**
 * Routes computed from the records. Results are computed on demand and cached until the records or adjacencies change. Paths stay cached
 * beyond a change if the CPU budget is spent (peers decide how often records change) or the network is large. Later calls of `goOn` then
 * recompute them in slices. The same holds for the destinations of a key that many routers have.
 */
export class RouteTable {
  readonly #self: RouterId;
  readonly #routers: ReadonlyMap<RouterId, KnownRouter>;
  readonly #adjacencies: ReadonlyMap<string, Adjacency>;
  readonly #keys = new KeyIndex();
  /** Links to adjacent routers, by next hop and by whether the path leaves its site. Cleared when the adjacencies change. */
  readonly #links = new Map<string, readonly string[]>();
  readonly #destinations = new Map<string, Found>();
  /** Weight of all cached destinations. */
  #weight = 0;
  /** Keys whose outdated destinations were returned, in the order of their recomputation. */
  readonly #late = new Set<string>();
  readonly #choiceTime = new CpuBudget(choiceTime.part, choiceTime.burst);
  readonly #clock: () => number;
  readonly #time = new CpuBudget(pathTime.part, pathTime.burst);
  #paths: Paths | undefined;
  /** Number of changes so far to the inputs of the path computation. */
  #changes = 0;
  /** Value of `#changes` when the paths were begun, and the least value whose paths are still valid. */
  #pathsOf = 0;
  #leastOf = 0;
  /** Whether the last path computation needed several steps. */
  #areMany = false;
  /** Path computation in progress. */
  #finding: Sliced<Paths> | undefined;
  #blocked: ReadonlySet<string> = new Set();
  #version = 0;
  /** Raised by each change to the inputs of the destinations. */
  #news = 0;
  /** Least cost at which a router announces each neighbour, by router, as of that `#news`. */
  #announced = { of: 0, costs: new Map<RouterId, ReadonlyMap<RouterId, number>>() };

  /** @param clock monotonic milliseconds */
  constructor(
    self: RouterId,
    routers: ReadonlyMap<RouterId, KnownRouter>,
    adjacencies: ReadonlyMap<string, Adjacency>,
    clock: () => number,
  ) {
    this.#self = self;
    this.#routers = routers;
    this.#adjacencies = adjacencies;
    this.#clock = clock;
  }

  get version(): number {
    return this.#version;
  }

  /** Must be called after each change of the records. */
  apply(change: Change): void {
    this.#keys.apply(change);
    if (change.topology) this.#pathsChanged();
    if (change.content) this.#outdate();
  }

  /**
   * Must be called after each change of the adjacencies. A new or lost link counts at once: each costs the peer a handshake. In a large
   * network it counts a few event-loop iterations later, since finding all paths costs several handshakes. A new cost takes one message.
   * @param isOther whether links were added or removed, rather than only their cost changed
   */
  adjacenciesChanged(isOther: boolean): void {
    this.#links.clear();
    if (isOther && !this.#areMany) this.#dropPaths();
    else this.#pathsChanged();
    if (isOther) this.#findSoon();
    this.#outdate();
  }

  /** Whether the paths are older than the last change. */
  get isBehind(): boolean {
    return this.#paths !== undefined && this.#pathsOf < this.#changes;
  }

  /** Whether outdated destinations were returned. */
  get isLate(): boolean {
    return this.#late.size > 0;
  }

  /** Whether a computation is in progress: call `goOn` in the next event-loop iteration. */
  get isFinding(): boolean {
    return this.#finding !== undefined || (this.isLate && this.#choiceTime.wait(this.#clock()) === 0);
  }

  /** Continues pending computations. Call it periodically. */
  goOn(): void {
    if (this.#paths === undefined) this.#finding = undefined;
    this.#findSoon();
    if (this.#finding === undefined) {
      this.#findLate();
      return;
    }
    const began = performance.now();
    if (runSlice(this.#finding, AT_A_TIME) !== undefined) this.#finding = undefined;
    this.#time.spend(performance.now() - began, this.#clock());
  }

  /** Their records are still stored and forwarded, since other routers may need them. Here the sites count as unreachable. */
  block(sites: ReadonlySet<string>): void {
    this.#blocked = sites;
    this.#dropPaths();
    this.#dropDestinations();
    this.#outdate();
  }

  get reachable(): readonly RouterId[] {
    return this.#currentPaths().reachable;
  }

  /** Chooses the routers to evict so that the limits hold, among those known now. */
  *chooseEvictions(limits: RoutingLimits): Sliced<readonly RouterId[]> {
    const routers = new Map(this.#routers);
    const adjacent = this.#adjacent();
    // Old paths would make new routers look unreachable.
    const paths = this.#paths === undefined || this.isBehind ? yield* this.#find() : this.#paths;
    const gone = yield* chooseEvictions({ self: this.#self, routers, adjacent, paths, limits });
    // A router that became adjacent meanwhile was ranked as a distant one.
    const now = this.#adjacent();
    return gone.filter((router) => adjacent.has(router) || !now.has(router));
  }

  destinations(routingKey: string): readonly RouteDestination[] {
    const known = this.#destinations.get(routingKey);
    if (known === undefined || (known.of < this.#news && !known.areMany)) return this.#findDestinations(routingKey);
    if (known.of === this.#news) return known.list;
    // Queued in FIFO order: otherwise the first caller would use up the whole CPU budget.
    if (!this.isLate && this.#choiceTime.wait(this.#clock()) === 0) return this.#findDestinations(routingKey);
    this.#late.add(routingKey);
    return known.list;
  }

  pathTo(router: RouterId): RouterPath | undefined {
    const paths = this.#currentPaths();
    if (paths.costTo(router) === undefined) return undefined;
    const path = paths.pathTo(router);
    return { router, path, links: this.#linksTo(this.#firstHop(path)) };
  }

  /** Whether either end announces one of the hops at the greatest cost, as for a silent link, or no longer announces it. */
  isSilent(path: readonly RouterId[]): boolean {
    return path.some((router, index) => {
      const from = path[index - 1] ?? this.#self;
      return Math.max(this.#hopCost(from, router), this.#hopCost(router, from)) >= MOST_COST;
    });
  }

  /** Returns the least cost at which one router announces another as its neighbour. */
  #hopCost(from: RouterId, to: RouterId): number {
    if (from !== this.#self) return this.#announcedCosts(from).get(to) ?? Infinity;
    let least = Infinity;
    for (const { router, cost } of this.#adjacencies.values()) if (router === to) least = Math.min(least, cost);
    return least;
  }

  /** Cached for each change of the records: a router may announce thousands of neighbours, and hundreds of paths may lead through it. */
  #announcedCosts(from: RouterId): ReadonlyMap<RouterId, number> {
    if (this.#announced.of !== this.#news) this.#announced = { of: this.#news, costs: new Map() };
    return this.#announced.costs.getOrInsertComputed(from, () => {
      const costs = new Map<RouterId, number>();
      for (const { neighbours } of this.#routers.get(from)?.parts ?? [])
        for (const { router, cost } of neighbours) costs.set(router, Math.min(cost, costs.get(router) ?? Infinity));
      return costs;
    });
  }

  hasListener(routingKey: string): boolean {
    const paths = this.#currentPaths();
    return this.#keys.of(routingKey).some(({ router, listeners }) => listeners > 0 && paths.costTo(router) !== undefined);
  }

  site(siteId: string): { readonly name: string; readonly isReachable: boolean } | undefined {
    const paths = this.#currentPaths();
    let name: string | undefined;
    for (const { id, site, about } of this.#routers.values()) {
      if (site !== siteId || about === undefined) continue;
      if (paths.costTo(id) !== undefined) return { name: about.name, isReachable: true };
      name ??= about.name;
    }
    return name === undefined ? undefined : { name, isReachable: false };
  }

  network(): readonly RouterRecord[] {
    return this.reachable.flatMap((id) => {
      const router = this.#routers.get(id);
      return router === undefined ? [] : this.#describe(router);
    });
  }

  #findDestinations(routingKey: string): readonly RouteDestination[] {
    const paths = this.#currentPaths();
    const began = performance.now();
    const entries = this.#keys.of(routingKey);
    const near = entries.flatMap(({ router, connectors, failing }) => {
      const cost = connectors > 0 ? paths.costTo(router) : undefined;
      return cost === undefined ? [] : [{ router, cost, connectors, ...(failing === undefined ? {} : { failing }) }];
    });
    near.sort((left, right) => left.cost - right.cost || (left.router < right.router ? -1 : 1));
    const linksTo = (hop: FirstHop | undefined): readonly string[] => this.#linksTo(hop);
    const list = near.slice(0, DESTINATIONS_OF_KEY).map((destination) => {
      const path = paths.pathTo(destination.router);
      const hop = this.#firstHop(path);
      // Read on access: a link may replace another while the rest stays valid.
      return {
        ...destination,
        path,
        get links() {
          return linksTo(hop);
        },
      };
    });
    const areMany = entries.length > FEW_ENTRIES;
    this.#keep(routingKey, { list, areMany, of: this.#news });
    if (areMany) this.#choiceTime.spend(performance.now() - began, this.#clock());
    return list;
  }

  #keep(routingKey: string, found: Found): void {
    this.#weight -= weightOf(this.#destinations.get(routingKey));
    if (this.#weight + weightOf(found) > MOST_WEIGHT) this.#dropDestinations();
    this.#weight += weightOf(found);
    this.#destinations.set(routingKey, found);
  }

  #dropDestinations(): void {
    this.#destinations.clear();
    this.#late.clear();
    this.#weight = 0;
  }

  #findLate(): void {
    const [first] = this.#late;
    if (first === undefined || this.#choiceTime.wait(this.#clock()) > 0) return;
    this.#late.delete(first);
    this.#findDestinations(first);
    this.#version += 1;
  }

  #adjacent(): ReadonlySet<RouterId> {
    return new Set([...this.#adjacencies.values()].map(({ router }) => router));
  }

  #describe({ id, site, parts: all, about, keys: manyKeys, neighbours }: KnownRouter): RouterRecord[] {
    if (about === undefined) return [];
    const { name, namespace, platform, version, edge } = about;
    const parts = [...all];
    const router = id.slice(site.length + 1);
    const links = once(() => parts.flatMap((record) => record.neighbours.map((neighbour) => this.#linkTo(neighbour))));
    const keys = once(() => keysIn(parts));
    return [
      {
        router,
        site: { id: site, name, namespace, platform, version },
        edge,
        listed: manyKeys + neighbours,
        get links() {
          return links();
        },
        get keys() {
          return keys();
        },
      },
    ];
  }

  #linkTo({ router, link, cost }: Neighbour): RouterRecord['links'][number] {
    return { name: link, siteId: siteOf(router), siteName: this.#routers.get(router)?.about?.name ?? '', cost };
  }

  #currentPaths(): Paths {
    if (this.#paths !== undefined) return this.#paths;
    const began = performance.now();
    const paths = runToEnd(this.#find());
    this.#time.spend(performance.now() - began, this.#clock());
    return paths;
  }

  *#find(): Sliced<Paths> {
    const of = this.#changes;
    const steps = findPaths(this.#self, this.#routers, [...this.#adjacencies.values()], this.#blocked);
    let step = steps.next();
    this.#areMany = step.done !== true;
    for (; step.done !== true; step = steps.next()) yield;
    const paths = step.value;
    // Another computation may have finished meanwhile, or this one may be outdated.
    if (of < this.#leastOf || (this.#paths !== undefined && of <= this.#pathsOf)) return paths;
    if (this.#paths !== undefined) this.#outdate();
    this.#paths = paths;
    this.#pathsOf = of;
    return paths;
  }

  #findSoon(): void {
    if (this.isBehind && this.#time.wait(this.#clock()) === 0) this.#finding ??= this.#find();
  }

  #pathsChanged(): void {
    const mayWait = this.#paths !== undefined && (this.#areMany || this.#time.wait(this.#clock()) > 0);
    if (mayWait) this.#changes += 1;
    else this.#dropPaths();
  }

  #dropPaths(): void {
    this.#changes += 1;
    this.#leastOf = this.#changes;
    this.#paths = undefined;
  }

  #firstHop([first, ...others]: readonly RouterId[]): FirstHop | undefined {
    if (first === undefined) return undefined;
    const leaves = siteOf(first) !== siteOf(this.#self) && others.some((router) => siteOf(router) !== siteOf(first));
    return { router: first, leaves, name: `${leaves} ${first}` };
  }

  #linksTo(hop: FirstHop | undefined): readonly string[] {
    if (hop === undefined) return [];
    // Each new connection asks.
    return this.#links.get(hop.name) ?? this.#findLinksTo(hop);
  }

  #findLinksTo({ router: first, leaves, name }: FirstHop): readonly string[] {
    const found = [...this.#adjacencies.values()]
      .filter(({ router, confined }) => router === first && !(leaves && confined === true))
      .sort((left, right) => left.cost - right.cost || (left.link < right.link ? -1 : 1))
      .map(({ link }) => link);
    this.#links.set(name, found);
    return found;
  }

  #outdate(): void {
    this.#version += 1;
    this.#news += 1;
  }
}

/** First router of a path. */
interface FirstHop {
  readonly router: RouterId;
  /** Whether the path continues from its site to others. */
  readonly leaves: boolean;
  /** Key of the links to it. */
  readonly name: string;
}

/** Cached destinations of a key. */
interface Found {
  readonly list: readonly RouteDestination[];
  /** Whether so many routers have the key that comparing them takes long. */
  readonly areMany: boolean;
  /** Value of `#news` at the computation. */
  readonly of: number;
}

/** Number of routers that can be compared in some tens of microseconds. */
const FEW_ENTRIES = 64;
/**
 * Maximum weight of the cache, and weight of a key in destinations. The cache holds some 4,000 keys, or as many destinations as all
 * routers have.
 */
const [MOST_WEIGHT, WEIGHT_OF_KEY] = [65_536, 16];

const weightOf = (found: Found | undefined): number => (found === undefined ? 0 : WEIGHT_OF_KEY + found.list.length);

/** If several entries name the same key, the first one counts. */
function keysIn(parts: readonly RouteRecord[]): RouterRecord['keys'] {
  const keys = new Map<string, KeyCount>();
  for (const record of parts)
    eachKey(record, (key) => {
      if (!keys.has(key.routingKey)) keys.set(key.routingKey, key);
    });
  return [...keys.values()];
}

/** Computes the value on first access: a large network changes with each message, and most of it is never read. */
function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: read() }).value;
}
