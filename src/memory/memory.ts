import type { Logger } from '../telemetry/log.ts';
import { RateLimitedLog } from '../telemetry/rate-limited-log.ts';
import { bounded, guard } from '../telemetry/boundary.ts';
import { COST, HANDSHAKE_COST } from './costs.ts';
import { MemoryUsers, type ChargedUser, type MemoryUser } from './memory-users.ts';
import { memoryMetrics, showMemory } from './memory-metrics.ts';
import { afterReading, forgetReading } from '../net/read-count.ts';
import { NestedFairShare, type ShareOwner } from '../limits/nested-fair-share.ts';
import { FairShare } from '../limits/fair-share.ts';
import { runToEnd, runSlice, type Sliced } from '../limits/sliced.ts';
import { CpuBudget } from '../limits/cpu-budget.ts';
import { KeyedLimits } from '../limits/keyed-limits.ts';
import { limitTable } from '../limits/table.ts';

/** Minimum time in milliseconds between two scans before a refusal, and maximum fraction of the time spent on them. */
const LOOK_AGAIN = 100;
const LOOK_PART = 0.05;
/** CPU-time budget for making room for the links of one owner: a peer can ask for links without end. */
const ROOM_TIME = limitTable.memorySearchTime.value;
const ROOM_TIME_OWNERS = 1_024;
/** Divisor of the budget for the memory of handshakes, which comes on top of it, and minimum number of handshakes. */
const [PARTS, FEW_HANDSHAKES] = [limitTable.handshakeMemory.value, 16];
/** Fraction of the budget that is in use after an eviction. */
const AFTER_EXCESS = 7 / 8;
/**
 * Milliseconds of evictions in one event-loop iteration. There may be thousands, and both ends of each are closed in the next iteration.
 */
const EASE = 2;

/**
 * The memory that a router holds for others, in fair shares (`NestedFairShare`). Nothing is counted while bytes pass. Instead all users
 * are scanned: after enough bytes were read to make a difference, and before a refusal.
 *
 * Invariant: a user's charge is part of its owner's share from `add` to `delete`.
 */
export class Memory {
  readonly #log: RateLimitedLog;
  readonly #now: () => number;
  readonly #shares: NestedFairShare;
  /** Peer connections; each takes a file descriptor. */
  readonly #peers: FairShare;
  readonly #holders = new MemoryUsers();
  readonly #hideMetrics: () => void;
  /** Budgets of `ROOM_TIME` by owner. */
  readonly #roomTime = new KeyedLimits<CpuBudget>({
    create: () => new CpuBudget(ROOM_TIME.part, ROOM_TIME.burst),
    isIdle: (time, clock) => time.isWhole(clock),
    most: ROOM_TIME_OWNERS,
  });
  #scanAgain = -Infinity;
  #easing: NodeJS.Immediate | undefined;
  #eases: Sliced<void> | undefined;

  /** @param limits totals over all owners */
  constructor(limits: { readonly bytes: number; readonly peers: number }, log: Logger, now: () => number = () => performance.now()) {
    this.#log = new RateLimitedLog(log);
    this.#now = now;
    // Owners beyond their share release memory when it is needed (`#ease`).
    this.#shares = new NestedFairShare(limits.bytes, true);
    // Peer connections take a part of the reserved file descriptors. Each owner has an equal share of that part, in any order of arrival.
    this.#peers = new FairShare(limits.peers, true);
    const shares = this.#shares;
    const { owners } = shares;
    this.#hideMetrics = showMemory({
      get budget() {
        return shares.most;
      },
      get held() {
        return owners.total;
      },
      get most() {
        return owners.largest;
      },
    });
    this.#watch();
  }

  /**
   * Checks for room. A link is worth more than the connections it carries. If the owner's own connections leave no room for a link, as
   * many of them as needed are ended.
   * @param count number of items that need room together
   * @returns why there is no room for that; undefined if there is room
   */
  refusal(kind: MemoryUser['kind'], whose: ShareOwner, count = 1): string | undefined {
    const { owner, key } = whose;
    const cost = COST[kind] * count;
    if (this.#shares.hasRoom(whose, cost)) return undefined;
    // Memory held at the last scan may have been released.
    if (this.#now() >= this.#scanAgain) {
      this.#scan();
      this.#easeWhereUsedUp();
    }
    if (this.#shares.hasRoom(whose, cost) || (kind === 'peer' && this.#makeRoom(owner, cost))) return undefined;
    const { owners, most } = this.#shares;
    const fields = { owner, key, held: owners.of(owner), all: owners.total, budget: most };
    memoryMetrics.refused.inc({ what: kind });
    this.#log.warn(fields, `${kind} refused: ${owner} has used up its memory quota of this router`);
    return `${mebibytes(fields.held)} of this router's memory are in use for you, which is your quota. Open fewer connections at once, or raise its memory limit.`;
  }

  /** Changes the total. Owners beyond their share of a smaller one lose connections. */
  resize(bytes: number): void {
    if (bytes === this.#shares.most) return;
    this.#shares.most = bytes;
    this.#easeWhereUsedUp();
  }

  /**
   * Maximum number of TLS handshakes in progress at one port, or at all Listeners. Unauthenticated clients are not charged to any owner.
   */
  get handshakes(): number {
    return Math.max(FEW_HANDSHAKES, Math.floor(this.#shares.most / PARTS / HANDSHAKE_COST));
  }

  /** Charges memory that cannot be reclaimed. @param bytes negative to release */
  charge(whose: ShareOwner, bytes: number): void {
    this.#shares.change(whose, bytes);
  }

  add(holder: MemoryUser): void {
    this.#shares.change(holder, this.#holders.add(holder));
    if (holder.kind === 'peer') this.#peers.change(holder.owner, 1);
  }

  /** Measures a user again once it has its other end, which may take much memory besides the bytes read (TLS). */
  lookAt(holder: MemoryUser): void {
    this.#shares.change(holder, this.#holders.lookAt(holder));
    this.#easeWhereUsedUp();
  }

  /** No-op if absent. */
  delete(holder: MemoryUser): void {
    const charge = this.#holders.delete(holder);
    if (charge === undefined) return;
    this.#shares.change(holder, -charge);
    if (holder.kind === 'peer') this.#peers.change(holder.owner, -1);
  }

  /** Ends no connection if ending all would not suffice. @returns whether there is room now; false if the time budget is spent */
  #makeRoom(owner: string, cost: number): boolean {
    const needed = cost - this.#shares.room(owner);
    if (this.#holders.ofConnections(owner) < needed) return false;
    const began = this.#now();
    const time = this.#roomTime.of(owner, began);
    if (time.wait(began) > 0) return false;
    const connections = this.#holders.heaviestOf(owner).filter(([{ kind }]) => kind === 'connection');
    runToEnd(this.#evict(connections, owner, needed, `${owner} has used up its memory quota, and a link needs memory`));
    const ended = this.#now();
    time.spend(ended - began, ended);
    return true;
  }

  /** Ends users in that order until enough bytes are released. */
  *#evict(holders: readonly ChargedUser[], owner: string, bytes: number, reason: string): Sliced<void> {
    const { owners, most } = this.#shares;
    const all = owners.total;
    let left = bytes;
    let ended = 0;
    for (const [holder, charge] of holders) {
      if (left <= 0) break;
      left -= charge;
      // Others may have ended by themselves meanwhile.
      if (!this.#holders.has(holder)) continue;
      ended += 1;
      memoryMetrics.ended.inc({ what: holder.kind });
      guard('look/memory-holder', holder, (one) => one.evict(reason));
      yield;
    }
    this.#log.warn({ owner, ended, freed: bytes - left, all, budget: most }, `connections ended: ${reason}`);
  }

  /** Considers open files only. @returns how many of the owner's link connections must end to admit `count` more */
  missingPeers(owner: string, count: number): number {
    return Math.max(0, Math.ceil(count - this.#peers.room(owner)));
  }

  /** Considers open files only, and ends none. @returns why `count` more link connections are refused; undefined if they fit */
  tooManyPeers(owner: string, count: number): string | undefined {
    if (this.missingPeers(owner, count) === 0) return undefined;
    const { held, most } = this.#peers;
    const fields = { owner, connections: held.of(owner), all: held.total, most };
    memoryMetrics.refused.inc({ what: 'peer' });
    this.#log.warn(fields, `peer refused: ${owner} has used up its quota of the connections that the limit of open files leaves to links`);
    return `${fields.connections} connections are open with you, which is your quota.`;
  }

  [Symbol.dispose](): void {
    forgetReading(this.#onRead);
    clearImmediate(this.#easing);
    this.#hideMetrics();
  }

  readonly #onRead = bounded(
    'look/memory',
    () => {
      this.#scan();
      this.#easeWhereUsedUp();
      this.#watch();
    },
    () => this.#watch(),
  );
  readonly #easeSoon = bounded('look/memory-used-up', () => {
    this.#easing = undefined;
    const steps = this.#eases ?? this.#ease();
    this.#eases = undefined;
    if (runSlice(steps, EASE) !== undefined) return;
    this.#eases = steps;
    this.#easing = setImmediate(this.#easeSoon);
  });

  #watch(): void {
    const { owners, most } = this.#shares;
    afterReading(Math.max(most / 16, (most - owners.total) / 4), this.#onRead);
  }

  #scan(): void {
    const began = this.#now();
    this.#holders.look((holder, amount) => this.#shares.change(holder, amount));
    const ended = this.#now();
    this.#scanAgain = ended + Math.max(LOOK_AGAIN, (ended - began) / LOOK_PART);
  }

  /** Deferred: the connection being read or admitted may be among those to end. */
  #easeWhereUsedUp(): void {
    const { owners, most } = this.#shares;
    if (owners.total > most) this.#easing ??= setImmediate(this.#easeSoon);
  }

  /** Evicts from the owners that hold most, the heaviest users first. */
  *#ease(): Sliced<void> {
    this.#scan();
    const { owners, most } = this.#shares;
    if (owners.total <= most) return;
    for (const [owner, excess] of owners.excess(most * AFTER_EXCESS)) {
      const reason = `this router's memory is used up, mostly by ${owner}`;
      yield* this.#evict(this.#holders.heaviestOf(owner), owner, excess, reason);
    }
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / (1 << 20))} MiB`;
