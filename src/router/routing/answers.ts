import { performance } from 'node:perf_hooks';
import type { RouterRecord } from '../contract.ts';
import type { Adjacency, RouteDestination, RouterId, RoutingLimits } from './contract.ts';
import type { Change, KnownRouter } from './database.ts';
import { findPaths } from './graph.ts';
import type { Paths } from './graph.ts';
import { KeyIndex } from './key-index.ts';
import { DESTINATIONS_OF_KEY, pathTime } from './limits.ts';
import { siteOf } from './names.ts';
import { eachKey, type KeyCount, type Neighbour, type RouteRecord } from './record.ts';
import { givesWay } from './room.ts';
import { TimeShare } from '../../work/time-share.ts';

/**
 * What the records mean for this router. Everything is worked out when it is asked for, and kept until a change of the records
 * or the adjacencies may have made it wrong. Paths are kept beyond a change of the records where all their time has been spent, since others decide
 * how often these change: then they are found anew with a later `tick`.
 */
export class Answers {
  readonly #self: RouterId;
  readonly #routers: ReadonlyMap<RouterId, KnownRouter>;
  readonly #adjacencies: ReadonlyMap<string, Adjacency>;
  readonly #keys: KeyIndex;
  readonly #destinations = new Map<string, readonly RouteDestination[]>();
  readonly #clock: () => number;
  readonly #time = new TimeShare(pathTime.part, pathTime.burst);
  #paths: Paths | undefined;
  /** They are of before a change. */
  #isBehind = false;
  #blocked: ReadonlySet<string> = new Set();
  #version = 0;

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
    this.#keys = new KeyIndex(routers);
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
   * handshake. Another cost is one message.
   * @param isOther others than before, not only at another cost
   */
  adjacenciesChanged(isOther: boolean): void {
    if (isOther) this.#forgetPaths();
    else this.#pathsChanged();
    this.#outdate();
  }

  /** Whether paths wait to be found anew. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** To be called now and then. */
  tick(): void {
    if (this.#isBehind && this.#time.wait(this.#clock()) === 0) this.#catchUp();
  }

  /** Their records are kept and passed on, as others may want them; here they count as unreachable. */
  block(sites: ReadonlySet<string>): void {
    this.#blocked = sites;
    this.#catchUp();
  }

  get reachable(): readonly RouterId[] {
    return this.#currentPaths().reachable;
  }

  /** Who is to be forgotten so that the limits hold. */
  givesWay(limits: RoutingLimits): readonly RouterId[] {
    // By old paths whoever is new could not be reached.
    if (this.#isBehind) this.#catchUp();
    const adjacent = new Set([...this.#adjacencies.values()].map(({ router }) => router));
    return givesWay({ self: this.#self, routers: this.#routers, adjacent, paths: this.#currentPaths(), limits });
  }

  destinations(routingKey: string): readonly RouteDestination[] {
    const known = this.#destinations.get(routingKey);
    if (known !== undefined) return known;
    const paths = this.#currentPaths();
    const near = this.#keys.of(routingKey).flatMap(({ router, connectors }) => {
      const cost = connectors > 0 ? paths.costTo(router) : undefined;
      return cost === undefined ? [] : [{ router, cost, connectors }];
    });
    near.sort((left, right) => left.cost - right.cost || (left.router < right.router ? -1 : 1));
    const found = near.slice(0, DESTINATIONS_OF_KEY).map((destination) => {
      const path = paths.pathTo(destination.router);
      return { ...destination, path, links: this.#linksTo(path) };
    });
    if (this.#destinations.size >= MOST_DESTINATIONS) this.#destinations.clear();
    this.#destinations.set(routingKey, found);
    return found;
  }

  hasListener(routingKey: string): boolean {
    const paths = this.#currentPaths();
    return this.#keys.of(routingKey).some(({ router, listeners }) => listeners > 0 && paths.costTo(router) !== undefined);
  }

  network(): readonly RouterRecord[] {
    return this.reachable.flatMap((id) => {
      const router = this.#routers.get(id);
      return router === undefined ? [] : this.#describe(router);
    });
  }

  #describe({ id, site, parts: all, about, keys: manyKeys, neighbours }: KnownRouter): RouterRecord[] {
    if (about === undefined) return [];
    const { name, namespace, platform, version, edge } = about;
    const parts = all.filter((record) => record !== undefined);
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
    this.#paths = findPaths(this.#self, this.#routers, [...this.#adjacencies.values()], this.#blocked);
    this.#time.spend(performance.now() - began, this.#clock());
    return this.#paths;
  }

  #pathsChanged(): void {
    if (this.#paths !== undefined && this.#time.wait(this.#clock()) > 0) this.#isBehind = true;
    else this.#forgetPaths();
  }

  #forgetPaths(): void {
    this.#paths = undefined;
    this.#isBehind = false;
  }

  #catchUp(): void {
    this.#forgetPaths();
    this.#outdate();
  }

  #linksTo(path: readonly RouterId[]): string[] {
    const [first, ...others] = path;
    const isOwn = first === undefined || siteOf(first) === siteOf(this.#self);
    const leaves = !isOwn && others.some((router) => siteOf(router) !== siteOf(first));
    return [...this.#adjacencies.values()]
      .filter(({ router, confined }) => router === first && !(leaves && confined === true))
      .sort((left, right) => left.cost - right.cost || (left.link < right.link ? -1 : 1))
      .map(({ link }) => link);
  }

  #outdate(): void {
    this.#version += 1;
    this.#destinations.clear();
  }
}

/** Keys whose destinations are kept until the next change. */
const MOST_DESTINATIONS = 4096;

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
