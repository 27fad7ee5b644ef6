import { Buffer } from 'node:buffer';
import type { RouterRecord } from '../contract.ts';
import { readMessage, writeRecords } from './codec.ts';
import type { AgedRecord } from './codec.ts';
import type { Adjacency, Outgoing, OwnFacts, RouteDestination, RouterId, Routing, RoutingCounters, RoutingLimits, RoutingOptions } from './contract.ts';
import { Database } from './database.ts';
import type { Change, KnownRouter } from './database.ts';
import { RoutingError } from './errors.ts';
import { Exchange } from './exchange.ts';
import { findPaths } from './graph.ts';
import type { Paths } from './graph.ts';
import { KeyPlaces } from './key-places.ts';
import { defaultLimits, forgetAfter, refreshEvery } from './limits.ts';
import { fitText, isRouterName, isRoutingKey, isText, routerId } from './names.ts';
import { OwnRecords } from './own-records.ts';
import { eachKey, readHead, readRecord, signatureOf, signedBytes } from './record.ts';
import type { RouteRecord } from './record.ts';
import { siteIdOf } from './site-id.ts';
import { verifySignature } from './site-key.ts';

/**
 * One router's part in the link-state protocol of `codec.ts`.
 * @throws RoutingError `site-key` where the site's id is not the one of its key, or the router's name is none
 */
export function createRouting(options: RoutingOptions): Routing {
  return new LinkState(options);
}

class LinkState implements Routing {
  readonly self: RouterId;
  readonly #options: RoutingOptions;
  readonly #limits: RoutingLimits;
  readonly #verify: NonNullable<RoutingOptions['verify']>;
  readonly #adjacencies = new Map<string, Adjacency>();
  readonly #own: OwnRecords;
  readonly #database: Database;
  readonly #places: KeyPlaces;
  readonly #exchange: Exchange;
  readonly #counters = { accepted: 0, stale: 0, refused: 0, malformed: 0, postponed: 0, contested: 0, leftOut: 0 };
  #facts: OwnFacts = { edge: false, keys: [] };
  #outgoing: Outgoing[] = [];
  #paths: Paths | undefined;
  #version = 0;
  /** The time of the last call, and the ageing clock: the same, but without the steps of a clock that is set. */
  #now = 0;
  #clock = 0;
  #refreshAt = 0;
  readonly #releases = new Credit(8, 5);
  readonly #contests = new Credit(3, 0.1);
  /** The greatest epoch in which someone else spoke as this router, while that is unanswered. */
  #contestedEpoch = 0;

  constructor(options: RoutingOptions) {
    if (!isRouterName(options.router)) throw new RoutingError('site-key', `A router cannot be named ${JSON.stringify(options.router)}: lower-case letters, digits and hyphens, at most 63.`);
    if (siteIdOf(options.siteKey.publicKey) !== options.site.id) throw new RoutingError('site-key', `The site's id is ${options.site.id}, its key says ${siteIdOf(options.siteKey.publicKey)}.`);
    this.self = routerId(options.site.id, options.router);
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#verify = options.verify ?? verifySignature;
    this.#own = new OwnRecords(options.router, options.siteKey);
    this.#database = new Database(this.#limits);
    this.#places = new KeyPlaces(this.#database.routers);
    this.#exchange = new Exchange({
      database: this.#database,
      messageBytes: Math.min(this.#limits.messageBytes, messageBytes),
      send: (link, message) => this.#outgoing.push({ link, message }),
      age: (router) => this.#ageOf(router),
    });
  }

  get version(): number {
    return this.#version;
  }

  get counters(): RoutingCounters {
    return { ...this.#counters };
  }

  setFacts(facts: OwnFacts, now: number): readonly Outgoing[] {
    this.#advance(now);
    this.#facts = facts;
    this.#state();
    return this.#release();
  }

  adjacencyUp(adjacency: Adjacency, now: number): readonly Outgoing[] {
    this.#advance(now);
    const known = this.#adjacencies.get(adjacency.link);
    this.#adjacencies.set(adjacency.link, adjacency);
    if (known?.router !== adjacency.router) {
      if (known !== undefined) this.#exchange.down(adjacency.link);
      this.#exchange.up(adjacency.link, this.self < adjacency.router);
    }
    this.#pathsChanged();
    this.#state();
    return this.#release();
  }

  adjacencyDown(link: string, now: number): readonly Outgoing[] {
    this.#advance(now);
    if (!this.#adjacencies.delete(link)) return [];
    this.#exchange.down(link);
    this.#pathsChanged();
    this.#state();
    return this.#release();
  }

  receive(link: string, message: Buffer, now: number): readonly Outgoing[] {
    this.#advance(now);
    if (!this.#adjacencies.has(link)) throw new RoutingError('routing-link', `A routing message came over ${link}, which is not up.`);
    if (message.length > this.#limits.messageBytes) {
      throw new RoutingError('routing-message', `A routing message has ${message.length} bytes, ${this.#limits.messageBytes} are allowed.`);
    }
    const read = readMessage(message);
    switch (read.kind) {
      case 'summary': this.#exchange.onSummary(link, read); break;
      case 'digest': this.#exchange.onDigest(link, read, now); break;
      case 'request': this.#exchange.onRequest(link, read); break;
      case 'records': this.#acceptAll(link, read.records); break;
      case 'done': this.#exchange.onDone(link, now); break;
      case 'unknown': break;
    }
    return this.#release();
  }

  tick(now: number): readonly Outgoing[] {
    this.#advance(now);
    if (this.#own.epoch > 0 && this.#clock >= this.#refreshAt) this.#own.refresh();
    for (const router of this.#database.routers.values()) {
      if (router.id !== this.self && this.#clock - router.made >= forgetAfter) this.#changed(this.#database.forget(router.id));
    }
    this.#exchange.tick(now);
    return this.#release();
  }

  destinations(routingKey: string): readonly RouteDestination[] {
    const paths = this.#currentPaths();
    const found: RouteDestination[] = [];
    for (const { router, connectors } of this.#places.of(routingKey)) {
      const cost = connectors > 0 ? paths.costTo(router) : undefined;
      if (cost === undefined) continue;
      const path = paths.pathTo(router);
      found.push({ router, cost, connectors, path, links: this.#linksTo(path[0]) });
    }
    return found.sort((left, right) => left.cost - right.cost || (left.router < right.router ? -1 : 1));
  }

  hasListener(routingKey: string): boolean {
    const paths = this.#currentPaths();
    return this.#places.of(routingKey).some(({ router, listeners }) => listeners > 0 && paths.costTo(router) !== undefined);
  }

  network(): readonly RouterRecord[] {
    return this.#currentPaths().reachable.flatMap((id) => {
      const router = this.#database.routers.get(id);
      return router?.about === undefined ? [] : [this.#describe(router)];
    });
  }

  #describe(router: KnownRouter): RouterRecord {
    const { edge, ...about } = router.about ?? { name: '', namespace: '', platform: '', version: '', edge: false };
    const keys = new Map<string, { routingKey: string; connectors: number; listeners: number }>();
    const links: { name: string; siteId: string; siteName: string; cost: number }[] = [];
    for (const record of router.parts) {
      if (record === undefined) continue;
      for (const { link, router: other, cost } of record.neighbours) {
        const siteId = other.slice(0, 36);
        links.push({ name: link, siteId, siteName: this.#database.routers.get(other)?.about?.name ?? '', cost });
      }
      eachKey(record, (key) => {
        if (!keys.has(key.routingKey)) keys.set(key.routingKey, key);
      });
    }
    return { router: router.id.slice(37), site: { id: router.site, ...about }, edge, links, keys: [...keys.values()] };
  }

  #currentPaths(): Paths {
    this.#paths ??= findPaths(this.self, this.#database.routers, [...this.#adjacencies.values()]);
    return this.#paths;
  }

  #linksTo(router: RouterId | undefined): string[] {
    return [...this.#adjacencies.values()].filter((adjacency) => adjacency.router === router)
      .sort((left, right) => left.cost - right.cost || (left.link < right.link ? -1 : 1)).map(({ link }) => link);
  }

  #acceptAll(link: string, records: readonly AgedRecord[]): void {
    const accepted: RouteRecord[] = [];
    try {
      for (const { age, bytes } of records) {
        const record = this.#accept(bytes, age);
        if (record !== undefined) accepted.push(record);
      }
    } finally {
      // Also where the peer is to be cut off for a later one: these are good.
      this.#flood(accepted, link);
    }
  }

  /** @returns the record where it is to be passed on */
  #accept(bytes: Buffer, age: number): RouteRecord | undefined {
    const head = readHead(bytes);
    if (!this.#database.isNew(head.id, head) || age * 1000 >= forgetAfter) {
      this.#counters.stale += 1;
      return undefined;
    }
    if (!this.#verify(head.publicKey, signedBytes(bytes), signatureOf(bytes))) {
      throw new RoutingError('routing-forged', `A record of router ${head.id} does not have its site's signature.`);
    }
    if (head.id === this.self) {
      this.#contest(head.epoch);
      return undefined;
    }
    const record = readRecord(Buffer.from(bytes));
    if (record === undefined) {
      this.#counters.malformed += 1;
      return undefined;
    }
    if (!this.#database.fits(record) && !this.#makeRoom(record)) {
      this.#counters.refused += 1;
      return undefined;
    }
    this.#counters.accepted += 1;
    this.#changed(this.#database.take(record, this.#clock - age * 1000));
    return record;
  }

  /** Routers that cannot be reached give way. */
  #makeRoom(record: RouteRecord): boolean {
    const reachable = new Set(this.#currentPaths().reachable);
    for (const router of this.#database.routers.keys()) {
      if (!reachable.has(router) && router !== record.router) this.#changed(this.#database.forget(router));
    }
    return this.#database.fits(record);
  }

  /** A newer record of this router than it has made: from before a restart with the clock set back, or from a copy of the site. */
  #contest(epoch: number): void {
    this.#counters.contested += 1;
    this.#contestedEpoch = Math.max(this.#contestedEpoch, epoch);
  }

  /** Brings what this router says of itself up to date. */
  #state(): void {
    const { site } = this.#options;
    const adjacencies = [...this.#adjacencies.values()];
    const neighbours = adjacencies.slice(0, this.#limits.neighboursOfRouter);
    const keys = this.#facts.keys.filter(({ routingKey }) => isRoutingKey(routingKey)).slice(0, this.#limits.keysOfRouter);
    this.#own.state({
      about: { name: fitText(site.name), namespace: fitText(site.namespace), platform: fitText(site.platform), version: fitText(site.version), edge: this.#facts.edge },
      neighbours: neighbours.map(({ router, cost, link }) => ({ router, cost: clamp(cost, 1), link: isText(link) ? link : fitText(link) })),
      keys: keys.map(({ routingKey, connectors, listeners }) => ({ routingKey, connectors: clamp(connectors, 0), listeners: clamp(listeners, 0) })),
    });
    this.#counters.leftOut = this.#own.leftOut + adjacencies.length - neighbours.length + this.#facts.keys.length - keys.length;
  }

  /** Makes own records anew where that is due, and returns all that is to be sent. */
  #release(): readonly Outgoing[] {
    // Two that contest the name would otherwise go beyond each other as fast as they can send.
    if (this.#contestedEpoch >= this.#own.epoch && this.#contestedEpoch > 0 && this.#contests.take(this.#clock)) {
      this.#own.begin(Math.max(this.#contestedEpoch + 1, Math.floor(this.#now)));
      this.#contestedEpoch = 0;
    }
    if (this.#own.changed && this.#releases.take(this.#clock)) {
      if (this.#own.epoch === 0) this.#own.begin(Math.max(1, Math.floor(this.#now)));
      const records = this.#own.make().map((bytes) => readRecord(bytes)).filter((record) => record !== undefined);
      for (const record of records) this.#changed(this.#database.take(record, this.#clock));
      if (records.some((record) => record.part === 0)) this.#refreshAt = this.#clock + refreshEvery * (0.75 + 0.25 * jitter(signatureOf(records[0]?.bytes ?? Buffer.alloc(64))));
      this.#flood(records, undefined);
    }
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    return outgoing;
  }

  #flood(records: readonly RouteRecord[], from: string | undefined): void {
    if (records.length === 0) return;
    const messages = new Map<boolean, Buffer[]>();
    for (const { link, router } of this.#adjacencies.values()) {
      if (link === from) continue;
      const some = records.filter((record) => record.router !== router);
      const all = some.length === records.length;
      const made = (all ? messages.get(true) : undefined) ?? this.#write(some);
      if (all) messages.set(true, made);
      for (const message of made) this.#outgoing.push({ link, message });
    }
  }

  #write(records: readonly RouteRecord[]): Buffer[] {
    return writeRecords(records.map(({ router, bytes }) => ({ age: this.#ageOf(router), bytes })), Math.min(this.#limits.messageBytes, messageBytes));
  }

  #ageOf(router: RouterId): number {
    return Math.max(0, Math.floor((this.#clock - (this.#database.routers.get(router)?.made ?? this.#clock)) / 1000));
  }

  #changed(change: Change | undefined): void {
    if (change === undefined) return;
    this.#places.apply(change);
    if (change.topology) this.#paths = undefined;
    if (change.content) this.#version += 1;
  }

  #pathsChanged(): void {
    this.#paths = undefined;
    this.#version += 1;
  }

  #advance(now: number): void {
    if (this.#now > 0) this.#clock += Math.min(Math.max(now - this.#now, 0), longestStep);
    this.#now = now;
  }
}

/** So many at once, and then so many a second. */
class Credit {
  readonly #most: number;
  readonly #perSecond: number;
  #left: number;
  #since = 0;

  constructor(most: number, perSecond: number) {
    this.#most = most;
    this.#perSecond = perSecond;
    this.#left = most;
  }

  take(clock: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (clock - this.#since) / 1000 * this.#perSecond);
    this.#since = clock;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/** Bytes of a message that we send: one that is not too long to wait behind. */
const messageBytes = 32_768;

/** Milliseconds: a longer step between two calls is a clock that was set, or a machine that slept. */
const longestStep = 60_000;

/** From 0 to 1, the same for the same signature: no clock and no dice here. */
function jitter(signature: Buffer): number {
  return signature.readUInt32BE(0) / 2 ** 32;
}

function clamp(value: number, least: number): number {
  return Math.min(Math.max(Math.floor(value), least), 0xffff);
}
