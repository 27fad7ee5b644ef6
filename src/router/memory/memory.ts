import type { Logger } from '../../telemetry/log.ts';
import { RateLimitedLog } from '../../telemetry/rate-limited-log.ts';
import { bounded, guard } from '../../telemetry/boundary.ts';
import { COST, HANDSHAKE_COST } from './costs.ts';
import { MemoryUsers, type ChargedUser, type MemoryUser } from './memory-users.ts';
import { memoryMetrics, showMemory } from './memory-metrics.ts';
import { afterReading, forgetReading } from '../../net/read-count.ts';
import { NestedFairShare, type ShareOwner } from '../../limits/nested-fair-share.ts';
import { FairShare } from '../../limits/fair-share.ts';
import { runToEnd, runSlice, type Sliced } from '../../limits/sliced.ts';
import { CpuBudget } from '../../limits/cpu-budget.ts';
import { KeyedLimits } from '../../limits/keyed-limits.ts';
import { limitTable } from '../../limits/table.ts';

/** Milliseconds between two looks, where somebody is to be refused, and the part of the time that those may take. */
const LOOK_AGAIN = 100;
const LOOK_PART = 0.05;
/** Of the time, the part that may go into finding who lets go for one owner's links, and milliseconds of that at once: a peer can ask for links without end. */
const ROOM_TIME = limitTable.memorySearchTime.value;
const ROOM_TIME_OWNERS = 1_024;
/** Of the budget, what handshakes may take besides it, and how many there may be in any case. */
const [PARTS, FEW_HANDSHAKES] = [limitTable.handshakeMemory.value, 16];
/** What is left after some had to let go. */
const AFTER_EXCESS = 7 / 8;
/** Milliseconds of that in a turn of the event loop: thousands may have to, and each has two ends that are closed in the next one. */
const EASE = 2;

/**
 * The memory that a router holds for others, in shares (`NestedFairShare`). Nothing is counted where bytes pass. What is held is what all holders
 * say when they are looked at: after as many bytes have been read as could make a difference, and before anybody is refused.
 *
 * Invariant: a holder's charge is part of its owner's share from `add` to `delete`.
 */
export class Memory {
  readonly #log: RateLimitedLog;
  readonly #now: () => number;
  readonly #shares: NestedFairShare;
  /** Connections of peers: each takes a file. */
  readonly #peers: FairShare;
  readonly #holders = new MemoryUsers();
  readonly #hideMetrics: () => void;
  /** By owner. */
  readonly #roomTime = new KeyedLimits<CpuBudget>({
    create: () => new CpuBudget(ROOM_TIME.part, ROOM_TIME.burst),
    isIdle: (time, clock) => time.isWhole(clock),
    most: ROOM_TIME_OWNERS,
  });
  #scanAgain = -Infinity;
  #easing: NodeJS.Immediate | undefined;
  #eases: Sliced<void> | undefined;

  /** @param limits of all owners together */
  constructor(limits: { readonly bytes: number; readonly peers: number }, log: Logger, now: () => number = () => performance.now()) {
    this.#log = new RateLimitedLog(log);
    this.#now = now;
    // Whoever has more than its share lets go of it where that is needed (`#ease`).
    this.#shares = new NestedFairShare(limits.bytes, true);
    // Of the files that are reserved for all else they are a part: each owner has an equal one, whoever came before.
    this.#peers = new FairShare(limits.peers, true);
    const { owners } = this.#shares;
    this.#hideMetrics = showMemory({
      budget: limits.bytes,
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
   * A link is worth more than what it carries: where an owner's own connections leave it no room, as many of them end as it takes.
   * @param count of those that need room together. @returns why there is no more for that; undefined where there is room
   */
  refusal(kind: MemoryUser['kind'], whose: ShareOwner, count = 1): string | undefined {
    const { owner, key } = whose;
    const cost = COST[kind] * count;
    if (this.#shares.hasRoom(whose, cost)) return undefined;
    // What was held at the last look may have gone.
    if (this.#now() >= this.#scanAgain) {
      this.#scan();
      this.#easeWhereUsedUp();
    }
    if (this.#shares.hasRoom(whose, cost) || (kind === 'peer' && this.#makeRoom(owner, cost))) return undefined;
    const { owners, most } = this.#shares;
    const fields = { owner, key, held: owners.of(owner), all: owners.total, budget: most };
    memoryMetrics.refused.inc({ what: kind });
    this.#log.warn(fields, `${kind} refused: ${owner} holds its share of this router's memory`);
    return `${mebibytes(fields.held)} of this router's memory are in use for you, and the rest is kept for others. Take less at once, or give it more memory.`;
  }

  /** TLS handshakes that may be under way at once at a port, or at all Listeners: of people who are nobody yet, so that they count for none. */
  get handshakes(): number {
    return Math.max(FEW_HANDSHAKES, Math.floor(this.#shares.most / PARTS / HANDSHAKE_COST));
  }

  /** Of what nobody can be made to let go. @param bytes more, or less where it is below zero */
  charge(whose: ShareOwner, bytes: number): void {
    this.#shares.change(whose, bytes);
  }

  add(holder: MemoryUser): void {
    this.#shares.change(holder, this.#holders.add(holder));
    if (holder.kind === 'peer') this.#peers.change(holder.owner, 1);
  }

  /** At one that has got its other end, which may take much besides what is read (TLS). */
  lookAt(holder: MemoryUser): void {
    this.#shares.change(holder, this.#holders.lookAt(holder));
    this.#easeWhereUsedUp();
  }

  /** Also of one that is not there. */
  delete(holder: MemoryUser): void {
    const charge = this.#holders.delete(holder);
    if (charge === undefined) return;
    this.#shares.change(holder, -charge);
    if (holder.kind === 'peer') this.#peers.change(holder.owner, -1);
  }

  /** Lets nobody go where all of them are not enough. @returns whether there is room now; not where there is no time to look for it */
  #makeRoom(owner: string, cost: number): boolean {
    const needed = cost - this.#shares.room(owner);
    if (this.#holders.ofConnections(owner) < needed) return false;
    const began = this.#now();
    const time = this.#roomTime.of(owner, began);
    if (time.wait(began) > 0) return false;
    const connections = this.#holders.heaviestOf(owner).filter(([{ kind }]) => kind === 'connection');
    runToEnd(this.#letGoOf(connections, owner, needed, `${owner} holds its share of this router's memory, and a link needs room`));
    const ended = this.#now();
    time.spend(ended - began, ended);
    return true;
  }

  /** Ends the first of them, as many as it takes. */
  *#letGoOf(holders: readonly ChargedUser[], owner: string, bytes: number, reason: string): Sliced<void> {
    const { owners, most } = this.#shares;
    const all = owners.total;
    let left = bytes;
    let ended = 0;
    for (const [holder, charge] of holders) {
      if (left <= 0) break;
      left -= charge;
      // Others may have ended by themselves since.
      if (!this.#holders.has(holder)) continue;
      ended += 1;
      memoryMetrics.ended.inc({ what: holder.kind });
      guard('look/memory-holder', holder, (one) => one.letGo(reason));
      yield;
    }
    this.#log.warn({ owner, ended, freed: bytes - left, all, budget: most }, `connections ended: ${reason}`);
  }

  /** Of open files alone. @returns how many of the owner's connections of links have to end for so many more */
  missingPeers(owner: string, count: number): number {
    return Math.max(0, Math.ceil(count - this.#peers.room(owner)));
  }

  /** Of open files alone: nobody ends for them. @returns why there are none for so many more connections of links; undefined where there are */
  tooManyPeers(owner: string, count: number): string | undefined {
    if (this.missingPeers(owner, count) === 0) return undefined;
    const { held, most } = this.#peers;
    const fields = { owner, connections: held.of(owner), all: held.total, most };
    memoryMetrics.refused.inc({ what: 'peer' });
    this.#log.warn(fields, `peer refused: ${owner} has its share of the connections that the limit of open files leaves to links`);
    return `${fields.connections} connections are open with you, and the rest is kept for others.`;
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

  /** Not now: what is being read, or let in, may be among those that end. */
  #easeWhereUsedUp(): void {
    const { owners, most } = this.#shares;
    if (owners.total > most) this.#easing ??= setImmediate(this.#easeSoon);
  }

  /** Those who hold most let go, first of what costs most. */
  *#ease(): Sliced<void> {
    this.#scan();
    const { owners, most } = this.#shares;
    if (owners.total <= most) return;
    for (const [owner, excess] of owners.excess(most * AFTER_EXCESS)) {
      const reason = `this router's memory is used up, and most of it by ${owner}`;
      yield* this.#letGoOf(this.#holders.heaviestOf(owner), owner, excess, reason);
    }
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / (1 << 20))} MiB`;
