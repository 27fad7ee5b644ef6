import { Buffer } from 'node:buffer';
import { AgeingClock } from './ageing-clock.ts';
import { RouteTable } from './route-table.ts';
import { readMessage, writeRecords } from './codec.ts';
import type { AgedRecord } from './codec.ts';
import {
  type Adjacency,
  type Outgoing,
  type OwnFacts,
  type RouteDestination,
  type RouterPath,
  type RouterId,
  type Routing,
  type Contests,
  type RoutingCounters,
  type RoutingLimits,
  type RoutingOptions,
  type Waiting,
  type RouterRecord,
  MOST_COST,
} from './contract.ts';
import { Database } from './database.ts';
import { RoutingError } from './errors.ts';
import { Exchange } from './exchange.ts';
import { RecordIntake } from './record-intake.ts';
import { contestsAnswered, defaultLimits, FORGET_AFTER, ownReleases, REFRESH_EVERY, SENT_MESSAGE_BYTES, SWEEP_EVERY } from './limits.ts';
import { fitText, isRoutingKey, routerId } from './names.ts';
import { OwnRecords } from './own-records.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { readRecord, signatureOf } from './record.ts';
import type { ReadHead, RouteRecord } from './record.ts';
import { siteIdOf } from '../identity/site-id.ts';
import { verifySignature } from '../identity/site-key.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import { isLabel, isReservedKey } from '../text/names.ts';

/**
 * Implements one router's side of the link-state protocol of `codec.ts`.
 * @param read parses a record from bytes that are reused later; a simulation of many routers shares the parsed objects
 * @throws EarshotError `site-key` if the site's id does not match its key, or the router's name is invalid
 */
export function createRouting(options: RoutingOptions, read = readCopy): Routing {
  return new LinkState(options, read);
}

/** Copies outside the shared buffer pool: in the pool, one stored record would keep many replaced ones allocated. */
function readCopy(bytes: Buffer, head?: ReadHead): RouteRecord | undefined {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return readRecord(copy, head);
}

class LinkState implements Routing {
  readonly self: RouterId;
  readonly #options: RoutingOptions;
  readonly #limits: RoutingLimits;
  readonly #adjacencies = new Map<string, Adjacency>();
  readonly #read: typeof readCopy;
  readonly #own: OwnRecords;
  readonly #database: Database;
  readonly #answers: RouteTable;
  readonly #intake: RecordIntake;
  readonly #exchange: Exchange;
  readonly #clock = new AgeingClock();
  readonly #releases = new RateLimiter(ownReleases);
  readonly #contests = new RateLimiter(contestsAnswered);
  /** Links whose peer has records that were deferred. */
  readonly #behind = new Set<string>();
  #edge = false;
  #name: string;
  #outgoing: Outgoing[] = [];
  #keysLeftOut = 0;
  #neighboursLeftOut = 0;
  #refreshAt = 0;
  #sweepAt = 0;
  /** Greatest epoch in which another process spoke as this router and which is not answered yet. */
  #contestedEpoch = 0;
  #contested: Contests = { count: 0, last: 0 };

  constructor(options: RoutingOptions, read: typeof readCopy) {
    const { router, site, siteKey } = options;
    if (!isLabel(router))
      throw new EarshotError(
        'site-key',
        `A router cannot be named ${JSON.stringify(router)}: lower-case letters, digits and hyphens, at most 63.`,
      );
    const keyId = siteIdOf(siteKey.publicKey);
    if (keyId !== site.id) throw new EarshotError('site-key', `The site's id is ${JSON.stringify(site.id)}, its key says ${keyId}.`);
    this.self = routerId(site.id, router);
    this.#options = options;
    this.#name = site.name;
    this.#read = read;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#own = new OwnRecords(router, siteKey);
    this.#database = new Database(this.#limits);
    this.#stateAbout();
    this.#answers = new RouteTable(this.self, this.#database.routers, this.#adjacencies, () => this.#clock.reading);
    this.#intake = new RecordIntake({
      self: this.self,
      database: this.#database,
      verify: options.verify ?? verifySignature,
      read,
      clock: () => this.#clock.reading,
      isAdjacent: (id) => this.#isAdjacent(id),
      chooseEvictions: () => this.#answers.chooseEvictions(this.#limits),
      changed: (change) => this.#answers.apply(change),
      admitted: (id) => this.#flood(this.#database.routers.get(id)?.parts ?? [], undefined),
      contested: (epoch) => {
        this.#contestedEpoch = Math.max(this.#contestedEpoch, epoch);
      },
      postponed: (link) => this.#behind.add(link),
    });
    this.#exchange = new Exchange({
      database: this.#database,
      messageBytes: this.#longestSent,
      clock: () => this.#clock.reading,
      send: (link, message) => this.#outgoing.push({ link, message }),
      age: (id) => this.#ageOf(id),
      reachable: () => this.#answers.reachable,
      room: (link, id) => this.#intake.room(link, id),
      postponed: (link) => this.#behind.add(link),
    });
  }

  get version(): number {
    return this.#answers.version;
  }

  get contested(): Contests {
    return this.#contested;
  }

  get counters(): RoutingCounters {
    return { ...this.#intake.counters, leftOut: this.#own.leftOut + this.#keysLeftOut + this.#neighboursLeftOut };
  }

  setFacts(facts: OwnFacts, now: number): readonly Outgoing[] {
    this.#clock.advance(now);
    this.#edge = facts.edge;
    this.#name = facts.name ?? this.#name;
    const keys = facts.keys
      .filter(({ routingKey }) => isRoutingKey(routingKey) && !isReservedKey(routingKey))
      .slice(0, this.#limits.keysOfRouter);
    this.#keysLeftOut = facts.keys.length - keys.length;
    this.#own.stateKeys(keys.map((key) => ({ ...key, connectors: clamp(key.connectors, 0), listeners: clamp(key.listeners, 0) })));
    this.#stateAbout();
    return this.#release();
  }

  adjacencyUp(adjacency: Adjacency, now: number): readonly Outgoing[] {
    this.#clock.advance(now);
    const { link, isSilent = false } = adjacency;
    const known = this.#adjacencies.get(link);
    this.#adjacencies.set(link, isSilent ? { ...adjacency, cost: MOST_COST } : adjacency);
    const isNew = known?.router !== adjacency.router;
    if (isNew) {
      this.#exchange.down(link);
      this.#exchange.up(link, this.self < adjacency.router);
    }
    this.#adjacenciesChanged(isNew || (known?.isSilent ?? false) !== isSilent);
    return this.#release();
  }

  adjacencyDown(link: string, now: number): readonly Outgoing[] {
    this.#clock.advance(now);
    if (this.#adjacencies.delete(link)) {
      this.#exchange.down(link);
      this.#behind.delete(link);
      this.#adjacenciesChanged(true);
    }
    return this.#release();
  }

  receive(link: string, message: Buffer, now: number): readonly Outgoing[] {
    this.#clock.advance(now);
    if (!this.#adjacencies.has(link))
      throw new RoutingError('routing-link', `A routing message came over ${JSON.stringify(link)}, which is not up.`);
    if (message.length > this.#limits.messageBytes) {
      throw new RoutingError('routing-message', `A routing message has ${message.length} bytes, ${this.#limits.messageBytes} are allowed.`);
    }
    const read = readMessage(message);
    switch (read.kind) {
      case 'summary':
        this.#exchange.onSummary(link, read);
        break;
      case 'digest':
        this.#exchange.onDigest(link, read);
        break;
      case 'request':
        this.#exchange.onRequest(link, read);
        break;
      case 'records':
        this.#takeAll(link, read.records);
        break;
      case 'done':
        this.#exchange.onDone(link);
        break;
      case 'unknown':
        break;
    }
    return this.#release();
  }

  block(sites: ReadonlySet<string>): void {
    this.#answers.block(sites);
  }

  missed(link: string): void {
    this.#behind.add(link);
  }

  tick(now: number): readonly Outgoing[] {
    this.#clock.advance(now);
    const { reading } = this.#clock;
    if (this.#own.epoch > 0 && reading >= this.#refreshAt) this.#own.refresh();
    if (reading >= this.#sweepAt) this.#sweep();
    this.#intake.tick();
    this.#answers.goOn();
    this.#exchange.tick();
    for (const link of this.#behind) if (this.#adjacencies.has(link)) this.#exchange.summarize(link);
    this.#behind.clear();
    return this.#release();
  }

  get waiting(): Waiting {
    if (this.#answers.isFinding || this.#intake.isLooking) return 'a turn';
    return this.#own.changed || this.#answers.isBehind || this.#answers.isLate ? 'a while' : 'no';
  }

  release(now: number): readonly Outgoing[] {
    this.#clock.advance(now);
    // At most one of them in an event-loop iteration.
    if (this.#intake.isLooking) this.#intake.goOn();
    else this.#answers.goOn();
    return this.#release();
  }

  destinations(routingKey: string): readonly RouteDestination[] {
    return this.#answers.destinations(routingKey);
  }

  pathTo(router: RouterId): RouterPath | undefined {
    return this.#answers.pathTo(router);
  }

  isSilent(path: readonly RouterId[], firstLink: string | undefined): boolean {
    return (firstLink !== undefined && this.#adjacencies.get(firstLink)?.isSilent === true) || this.#answers.isSilent(path);
  }

  hasListener(routingKey: string): boolean {
    return this.#answers.hasListener(routingKey);
  }

  site(siteId: string): { readonly name: string; readonly isReachable: boolean } | undefined {
    return this.#answers.site(siteId);
  }

  network(): readonly RouterRecord[] {
    return this.#answers.network();
  }

  #takeAll(link: string, records: readonly AgedRecord[]): void {
    const taken: RouteRecord[] = [];
    try {
      for (const { age, bytes } of records) {
        const record = this.#intake.take(link, bytes, age);
        if (record !== undefined) taken.push(record);
      }
    } finally {
      // If a later record disconnects the peer, the earlier ones are still valid. They are sent with the next call.
      this.#flood(taken, link);
    }
  }

  /** Forgets routers that have been unreachable for long. Reachable routers stay, whatever age peers announce. */
  #sweep(): void {
    const { reading } = this.#clock;
    this.#sweepAt = reading + SWEEP_EVERY;
    for (const id of this.#answers.reachable) this.#database.rejuvenate(id, reading - REFRESH_EVERY);
    for (const { id, created } of this.#database.routers.values()) {
      const change = id !== this.self && reading - created >= FORGET_AFTER ? this.#database.forget(id) : undefined;
      if (change !== undefined) this.#answers.apply(change);
    }
  }

  #isAdjacent(id: RouterId): boolean {
    for (const { router } of this.#adjacencies.values()) if (router === id) return true;
    return false;
  }

  #stateAbout(): void {
    const { namespace, platform, version } = this.#options.site;
    this.#own.stateAbout({
      name: fitText(this.#name),
      namespace: fitText(namespace),
      platform: fitText(platform),
      version: fitText(version),
      edge: this.#edge,
    });
  }

  /** @param isOther whether links were added or removed, rather than only their cost changed */
  #adjacenciesChanged(isOther: boolean): void {
    this.#answers.adjacenciesChanged(isOther);
    const neighbours = [...this.#adjacencies.values()].slice(0, this.#limits.neighboursOfRouter);
    this.#neighboursLeftOut = this.#adjacencies.size - neighbours.length;
    this.#own.stateNeighbours(
      neighbours.map(({ router, cost, link, confined = false }) => ({ router, cost: clamp(cost, 1), link: fitText(link), confined })),
    );
  }

  /** Recreates own records where that is due, and returns all messages to send. */
  #release(): readonly Outgoing[] {
    const { reading, now } = this.#clock;
    // Rate-limited: two routers that contest one name would otherwise outbid each other as fast as they can send.
    if (this.#contestedEpoch > 0 && this.#contestedEpoch >= this.#own.epoch && this.#contests.take(reading)) {
      this.#own.begin(Math.max(this.#contestedEpoch + 1, Math.floor(now)));
      this.#contestedEpoch = 0;
      this.#contested = { count: this.#contested.count + 1, last: now };
    }
    if (this.#own.changed && this.#releases.take(reading)) {
      if (this.#own.epoch === 0) this.#own.begin(Math.max(1, Math.floor(now)));
      this.#publish();
    }
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    return outgoing;
  }

  #publish(): void {
    const { reading } = this.#clock;
    const records = this.#own
      .make()
      .map((bytes) => this.#read(bytes))
      .filter((record) => record !== undefined);
    for (const record of records) {
      this.#answers.apply(this.#database.take(record, reading));
      // Jitter without a random number: signatures differ enough.
      if (record.part === 0) this.#refreshAt = reading + REFRESH_EVERY * (1 - signatureOf(record.bytes).readUInt16BE() / 2 ** 18);
    }
    this.#flood(records, undefined);
  }

  /** Sends to all adjacent routers except the source. The origin itself may need the record most: see `#contestedEpoch`. */
  #flood(records: readonly RouteRecord[], from: string | undefined): void {
    if (records.length === 0) return;
    const aged = records.map(({ router, bytes }) => ({ age: this.#ageOf(router), bytes }));
    const messages = writeRecords(aged, this.#longestSent);
    for (const link of this.#adjacencies.keys()) {
      if (link !== from) for (const message of messages) this.#outgoing.push({ link, message, isNews: true });
    }
  }

  get #longestSent(): number {
    return Math.min(this.#limits.messageBytes, SENT_MESSAGE_BYTES);
  }

  /** Returns the seconds since that router created its part 0. */
  #ageOf(router: RouterId): number {
    const created = this.#database.routers.get(router)?.created ?? this.#clock.reading;
    return router === this.self ? 0 : Math.max(0, Math.floor((this.#clock.reading - created) / 1000));
  }
}

function clamp(value: number, least: number): number {
  return Math.min(Math.max(Math.floor(value), least), 0xffff);
}
