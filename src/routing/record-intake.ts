import type { Buffer } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import type { RouterId, RoutingCounters } from './contract.ts';
import type { Change, Database } from './database.ts';
import { RoutingError } from './errors.ts';
import {
  AT_A_TIME,
  FORGET_AFTER,
  looksForPlace,
  MOST_RETURNING,
  recordsOfLink,
  recordsOfRouter,
  returnsOfRouter,
  roomTime,
} from './limits.ts';
import { CpuBudget } from '../limits/cpu-budget.ts';
import { KeyedRateLimiter, RateLimiter } from '../limits/rate-limiter.ts';
import { readHead, signatureOf, signedBytes, type ReadHead } from './record.ts';
import type { RouteRecord } from './record.ts';
import { runSlice, type Sliced } from '../limits/sliced.ts';

/** Dependencies of the intake. */
export interface IntakeContext {
  readonly self: RouterId;
  readonly database: Database;
  readonly verify: (publicKey: Buffer, message: Buffer, signature: Buffer) => boolean;
  /** Parses and copies a record; the bytes are a view into a whole message. */
  readonly read: (bytes: Buffer, head: ReadHead) => RouteRecord | undefined;
  /** Returns the time of the ageing clock in milliseconds. */
  clock(): number;
  isAdjacent(router: RouterId): boolean;
  /** Chooses the routers to evict so that the limits hold again, among those known now. */
  chooseEvictions(): Sliced<readonly RouterId[]>;
  /** Reports changed records. */
  changed(change: Change): void;
  /** Reports that a provisional router may stay: its records are now forwarded. */
  admitted(router: RouterId): void;
  /** Reports a record of this router in this epoch that this router did not create. */
  contested(epoch: number): void;
  /** Reports that a record from that link was deferred. */
  postponed(link: string): void;
}

/**
 * Decides on each record that a peer sends. Only new records cost a signature check, rate-limited for each router and link. Records
 * beyond the rate are fetched later, when a summary shows that they are missing.
 */
export class RecordIntake {
  readonly #context: IntakeContext;
  readonly #routers = new KeyedRateLimiter(recordsOfRouter);
  readonly #links = new KeyedRateLimiter(recordsOfLink);
  readonly #scans = new RateLimiter(looksForPlace);
  readonly #roomTime = new CpuBudget(roomTime.part, roomTime.burst);
  /**
   * Routers that were accepted while the database was over its limits. They are not forwarded before the eviction is decided. Otherwise
   * two full routers would send each other the routers that they have just forgotten, as fast as they can.
   */
  #provisional = new Set<RouterId>();
  /** Eviction in progress, and the routers that were provisional when it began. */
  #scan: { readonly steps: Sliced<readonly RouterId[]>; readonly onTrial: ReadonlySet<RouterId> } | undefined;
  /**
   * Rate limit for the return of evicted routers. An eviction depends on the other routers present, so each of three may evict the next.
   * Without the limit, they would circulate among routers that have capacity for one.
   */
  readonly #returns = new KeyedRateLimiter(returnsOfRouter, MOST_RETURNING);
  readonly counters: { -readonly [Name in Exclude<keyof RoutingCounters, 'leftOut'>]: number } = {
    accepted: 0,
    stale: 0,
    refused: 0,
    malformed: 0,
    postponed: 0,
    contested: 0,
  };

  constructor(context: IntakeContext) {
    this.#context = context;
  }

  /**
   * @param age seconds
   * @returns the record if it was accepted and must be forwarded at once
   * @throws RoutingError if no honest peer would have sent it
   */
  take(link: string, bytes: Buffer, age: number): RouteRecord | undefined {
    const { database, verify, read, self } = this.#context;
    const head = readHead(bytes);
    const clock = this.#context.clock();
    const created = clock - age * 1000;
    const isNew = database.isNew(head.id, head);
    if (!isNew) database.confirm(head, bytes, created);
    // The age of a known router is at most what this router knows.
    if (!isNew || clock - Math.max(created, database.routers.get(head.id)?.created ?? -Infinity) >= FORGET_AFTER) {
      this.counters.stale += 1;
      return undefined;
    }
    if (this.#isUnreachable(head.id)) {
      this.counters.refused += 1;
      return undefined;
    }
    if (!this.#links.take(link, clock) || !this.#routers.take(head.id, clock)) {
      this.counters.postponed += 1;
      this.#context.postponed(link);
      return undefined;
    }
    if (!verify(head.publicKey, signedBytes(bytes), signatureOf(bytes))) {
      throw new RoutingError('routing-forged', `A record of router ${head.id} does not have its site's signature.`);
    }
    if (head.id === self) {
      this.counters.contested += 1;
      this.#context.contested(head.epoch);
      return undefined;
    }
    const record = read(bytes, head);
    if (record === undefined) {
      this.counters.malformed += 1;
      return undefined;
    }
    if (!database.isAllowed(record) || !this.#hasPlace(link, head.id) || !this.#fits(link, record)) {
      this.counters.refused += 1;
      return undefined;
    }
    this.counters.accepted += 1;
    const isUnknown = !database.routers.has(head.id);
    this.#context.changed(database.take(record, created));
    if (isUnknown && database.crowded) this.#provisional.add(head.id);
    return this.#provisional.has(head.id) || this.#scan?.onTrial.has(head.id) === true ? undefined : record;
  }

  /** Returns how many records of that router would be accepted from that link now. */
  room(link: string, router: RouterId): number {
    const clock = this.#context.clock();
    if (this.#isUnreachable(router)) return 0;
    return Math.min(this.#links.left(link, clock), this.#routers.left(router, clock));
  }

  tick(): void {
    this.#links.evictFull(this.#context.clock());
    this.#routers.evictFull(this.#context.clock());
    this.#returns.evictFull(this.#context.clock());
    if (this.#context.database.crowded) this.#makeRoom();
  }

  /** Whether an eviction is in progress: call `goOn` in the next event-loop iteration. */
  get isLooking(): boolean {
    return this.#scan !== undefined;
  }

  /** Continues the eviction. Call it periodically. */
  goOn(): void {
    if (this.#scan === undefined) return;
    const { clock } = this.#context;
    const began = performance.now();
    const found = runSlice(this.#scan.steps, AT_A_TIME);
    if (found !== undefined) this.#commit(found.value, this.#scan.onTrial);
    this.#roomTime.spend(performance.now() - began, clock());
  }

  /** Whether the router was evicted too often lately. A neighbour always fits. */
  #isUnreachable(router: RouterId): boolean {
    const { database, isAdjacent, clock } = this.#context;
    return this.#returns.left(router, clock()) === 0 && !database.routers.has(router) && !isAdjacent(router);
  }

  #hasPlace(link: string, router: RouterId): boolean {
    const { database, isAdjacent, clock, postponed } = this.#context;
    if (database.hasPlace(router) || isAdjacent(router)) return true;
    if (this.#scans.take(clock())) this.#makeRoom();
    if (database.hasPlace(router)) return true;
    if (this.isLooking) postponed(link);
    return false;
  }

  #fits(link: string, record: RouteRecord): boolean {
    const { database, clock, postponed } = this.#context;
    if (database.fits(record)) return true;
    if (!database.crowded && !this.isLooking) return false;
    const mayLook = this.#roomTime.wait(clock()) === 0;
    if (mayLook) this.#makeRoom();
    if (database.fits(record)) return true;
    // There may be room for it in a second.
    if (!mayLook || this.isLooking) postponed(link);
    return false;
  }

  /** Runs once for a whole flood of records: the slack above the limits lets one scan handle all that arrived. */
  #makeRoom(): void {
    if (this.#scan === undefined) {
      this.#scan = { steps: this.#context.chooseEvictions(), onTrial: this.#provisional };
      // Routers that arrive during the scan are not part of it.
      this.#provisional = new Set();
      this.#context.database.settled();
    }
    this.goOn();
  }

  #commit(giveWay: readonly RouterId[], onTrial: ReadonlySet<RouterId>): void {
    const { database, clock, changed, admitted } = this.#context;
    this.#scan = undefined;
    for (const router of giveWay) {
      const change = database.forget(router);
      if (change === undefined) continue;
      this.counters.refused += change.before.length;
      this.#returns.take(router, clock());
      changed(change);
    }
    for (const router of onTrial) if (database.routers.has(router)) admitted(router);
  }
}
