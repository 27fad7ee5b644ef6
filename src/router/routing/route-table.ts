import { performance } from 'node:perf_hooks';
import type { RouterRecord } from '../contract.ts';
import type { Adjacency, RouteDestination, RouterId, RoutingLimits } from './contract.ts';
import type { Change, KnownRouter } from './database.ts';
import { findPaths } from './graph.ts';
import type { Paths } from './graph.ts';
import { KeyIndex } from './key-index.ts';
import { AT_A_TIME, choiceTime, DESTINATIONS_OF_KEY, pathTime } from './limits.ts';
import { MOST_COST } from '../wire.ts';
import { siteOf } from './names.ts';
import { eachKey, type KeyCount, type Neighbour, type RouteRecord } from './record.ts';
import { givesWay } from './eviction.ts';
import { runToEnd, runSlice, type Sliced } from '../../limits/sliced.ts';
import { CpuBudget } from '../../limits/cpu-budget.ts';

/**
 * What the records mean for this router. Everything is worked out when it is asked for, and kept until a change of the records
 * or the adjacencies may have made it wrong. Paths are kept beyond a change of the records where all their time has been spent, since others decide
 * how often these change, or where there are so many that others would wait while they are found: then they are found anew in steps, by later calls
 * of `goOn`. So is where the connectors of a key are, where many routers have it: whoever has one of them decides how often that changes.
 */
export class RouteTable {
  readonly #self: RouterId;
  readonly #routers: ReadonlyMap<RouterId, KnownRouter>;
  readonly #adjacencies: ReadonlyMap<string, Adjacency>;
  readonly #keys = new KeyIndex();
  /** To adjacent routers, by whether a path leads on from their sites: until the adjacencies change. */
  readonly #links = new Map<string, readonly string[]>();
  readonly #destinations = new Map<string, Found>();
  /** Of all that is kept of them. */
  #weight = 0;
  /** Keys of which what was found before a change was told, the first to be looked for anew first. */
  readonly #late = new Set<string>();
  readonly #choiceTime = new CpuBudget(choiceTime.part, choiceTime.burst);
  readonly #clock: () => number;
  readonly #time = new CpuBudget(pathTime.part, pathTime.burst);
  #paths: Paths | undefined;
  /** Changes since the beginning, of all that paths come from. */
  #changes = 0;
  /** The same when the paths were begun, and where paths that were begun before lead nowhere now. */
  #pathsOf = 0;
  #leastOf = 0;
  /** There were so many last that they were found in several steps. */
  #areMany = false;
  /** Those that are being found. */
  #finding: Sliced<Paths> | undefined;
  #blocked: ReadonlySet<string> = new Set();
  #version = 0;
  /** Raised by each change of what destinations come from. */
  #news = 0;
  /** Least cost at which a router announces each neighbour, by router, as of that `#news`. */
  #announced = { of: 0, costs: new Map<RouterId, ReadonlyMap<RouterId, number>>() };

  /** @param clock milliseconds that only grow */
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

  /** To be called with each change of the records. */
  apply(change: Change): void {
    this.#keys.apply(change);
    if (change.topology) this.#pathsChanged();
    if (change.content) this.#outdate();
  }

  /**
   * To be called with each change of the adjacencies. What leads over a link that is gone leads nowhere, so that counts at once: each has cost its peer a
   * handshake. In a large network it counts a few turns later, since to find all paths takes several times as long as a handshake. Another cost is one
   * message.
   * @param isOther others than before, not only at another cost
   */
  adjacenciesChanged(isOther: boolean): void {
    this.#links.clear();
    if (isOther && !this.#areMany) this.#dropPaths();
    else this.#pathsChanged();
    if (isOther) this.#findSoon();
    this.#outdate();
  }

  /** Whether the paths are of before a change. */
  get isBehind(): boolean {
    return this.#paths !== undefined && this.#pathsOf < this.#changes;
  }

  /** Whether destinations were told that are of before a change. */
  get isLate(): boolean {
    return this.#late.size > 0;
  }

  /** Whether something is being found: `goOn` is to be called in the next turn of the event loop. */
  get isFinding(): boolean {
    return this.#finding !== undefined || (this.isLate && this.#choiceTime.wait(this.#clock()) === 0);
  }

  /** To be called now and then. */
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

  /** Their records are kept and passed on, as others may want them; here they count as unreachable. */
  block(sites: ReadonlySet<string>): void {
    this.#blocked = sites;
    this.#dropPaths();
    this.#dropDestinations();
    this.#outdate();
  }

  get reachable(): readonly RouterId[] {
    return this.#currentPaths().reachable;
  }

  /** Who is to be forgotten so that the limits hold: of those that are known now. */
  *givesWay(limits: RoutingLimits): Sliced<readonly RouterId[]> {
    const routers = new Map(this.#routers);
    const adjacent = this.#adjacent();
    // By old paths whoever is new could not be reached.
    const paths = this.#paths === undefined || this.isBehind ? yield* this.#find() : this.#paths;
    const gone = yield* givesWay({ self: this.#self, routers, adjacent, paths, limits });
    // Who has linked meanwhile was looked at as one that is far away.
    const now = this.#adjacent();
    return gone.filter((router) => adjacent.has(router) || !now.has(router));
  }

  destinations(routingKey: string): readonly RouteDestination[] {
    const known = this.#destinations.get(routingKey);
    if (known === undefined || (known.of < this.#news && !known.areMany)) return this.#findDestinations(routingKey);
    if (known.of === this.#news) return known.list;
    // In turn: whoever asks first would have all the time, else.
    if (!this.isLate && this.#choiceTime.wait(this.#clock()) === 0) return this.#findDestinations(routingKey);
    this.#late.add(routingKey);
    return known.list;
  }

  /** Whether one of the hops is announced at the greatest cost by either of its ends, as a silent link is, or by none of them any more. */
  isSilent(path: readonly RouterId[]): boolean {
    return path.some((router, index) => {
      const from = path[index - 1] ?? this.#self;
      return Math.max(this.#hopCost(from, router), this.#hopCost(router, from)) >= MOST_COST;
    });
  }

  /** The least cost at which one router announces another as its neighbour. */
  #hopCost(from: RouterId, to: RouterId): number {
    if (from !== this.#self) return this.#announcedCosts(from).get(to) ?? Infinity;
    let least = Infinity;
    for (const { router, cost } of this.#adjacencies.values()) if (router === to) least = Math.min(least, cost);
    return least;
  }

  /** Found once for each change of the records: a router may announce thousands of neighbours, and hundreds of paths may lead through it. */
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
    const linksTo = (path: readonly RouterId[]): readonly string[] => this.#linksTo(path);
    const list = near.slice(0, DESTINATIONS_OF_KEY).map((destination) => {
      const path = paths.pathTo(destination.router);
      // As they are when it is read: a link may take the place of another while the rest holds.
      return {
        ...destination,
        path,
        get links() {
          return linksTo(path);
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
    // Others may have been found meanwhile, or be wrong by now.
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

  #linksTo([first, ...others]: readonly RouterId[]): readonly string[] {
    if (first === undefined) return [];
    const leaves = siteOf(first) !== siteOf(this.#self) && others.some((router) => siteOf(router) !== siteOf(first));
    return this.#links.getOrInsertComputed(`${leaves} ${first}`, () =>
      [...this.#adjacencies.values()]
        .filter(({ router, confined }) => router === first && !(leaves && confined === true))
        .sort((left, right) => left.cost - right.cost || (left.link < right.link ? -1 : 1))
        .map(({ link }) => link),
    );
  }

  #outdate(): void {
    this.#version += 1;
    this.#news += 1;
  }
}

/** Where the connectors of a key are. */
interface Found {
  readonly list: readonly RouteDestination[];
  /** So many routers have the key that it takes a while to compare them. */
  readonly areMany: boolean;
  /** After so many changes. */
  readonly of: number;
}

/** Routers that are compared in some tens of microseconds. */
const FEW_ENTRIES = 64;
/** Of all that is kept, where a key weighs as much as so many destinations: some 4,000 keys, or destinations as all routers may have. */
const [MOST_WEIGHT, WEIGHT_OF_KEY] = [65_536, 16];

const weightOf = (found: Found | undefined): number => (found === undefined ? 0 : WEIGHT_OF_KEY + found.list.length);

/** Of several entries of a key the first counts. */
function keysIn(parts: readonly RouteRecord[]): RouterRecord['keys'] {
  const keys = new Map<string, KeyCount>();
  for (const record of parts)
    eachKey(record, (key) => {
      if (!keys.has(key.routingKey)) keys.set(key.routingKey, key);
    });
  return [...keys.values()];
}

/** Found when it is read: a large network changes with each message, and most of it is never looked at. */
function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: read() }).value;
}
