import type { Buffer } from 'node:buffer';
import { partOf, type Database } from './database.ts';
import { LONGEST_REQUEST, writeDigest, writeDone, writeRecords, writeRequest, writeSummary } from './codec.ts';
import type { AgedRecord, Message, PartsOf, VersionsOf } from './codec.ts';
import type { RouterId } from './contract.ts';
import { RoutingError } from './errors.ts';
import { answersOfLink, COMPARE_AT_LAST, COMPARE_EVERY, digestsOfLink, unknownRoutersOfLink } from './limits.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import type { RecordVersion } from './record.ts';

/** Dependencies of the exchange. */
export interface ExchangeContext {
  readonly database: Database;
  /** Maximum size of a sent message in bytes. */
  readonly messageBytes: number;
  /** Returns monotonic milliseconds. */
  clock(): number;
  send(link: string, message: Buffer): void;
  /** Returns the seconds since that router created its part 0. */
  age(router: RouterId): number;
  /** Returns the reachable routers, nearest first. */
  reachable(): readonly RouterId[];
  /** Returns how many records of that router would be accepted from that link now. */
  room(link: string, router: RouterId): number;
  /** Schedules a later comparison with that link. */
  postponed(link: string): void;
}

/**
 * Synchronizes the databases of two adjacent routers with summaries, digests and one request at a time (see `codec.ts`). A record is
 * requested over one link at a time, unless the answer is late. Periodic summaries find records that were lost on the way.
 */
export class Exchange {
  readonly #context: ExchangeContext;
  readonly #links = new Map<string, LinkExchange>();
  /** Records requested over some link and not received yet. */
  readonly #asked = new Map<string, Asked>();

  constructor(context: ExchangeContext) {
    this.#context = context;
  }

  /** @param begins whether this side sends the first summary */
  up(link: string, begins: boolean): void {
    this.#links.set(link, {
      needed: new Map(),
      neededParts: 0,
      asked: [],
      since: 0,
      every: begins ? COMPARE_EVERY : COMPARE_AT_LAST,
      compared: this.#context.clock(),
      overflowed: false,
      deferred: undefined,
      unknownRouters: new RateLimiter(unknownRoutersOfLink),
      digests: new RateLimiter(digestsOfLink),
      answers: new RateLimiter(answersOfLink),
    });
    if (begins) this.summarize(link);
  }

  down(link: string): void {
    const state = this.#links.get(link);
    this.#links.delete(link);
    if (state === undefined) return;
    for (const { name } of state.asked) this.#asked.delete(name);
    // Other peers may have these records: their digests arrived while this request was pending.
    this.#ask();
  }

  /** Starts a comparison of the whole database. */
  summarize(link: string): void {
    const state = this.#links.get(link);
    if (state !== undefined) state.compared = this.#context.clock();
    this.#context.send(link, writeSummary(this.#context.database.sums));
  }

  onSummary(link: string, { sums }: Extract<Message, { kind: 'summary' }>): void {
    const state = this.#links.get(link);
    if (state !== undefined) state.compared = this.#context.clock();
    const own = this.#context.database.sums;
    const differing = new Set<number>();
    for (const [bucket, sum] of own.entries()) if (sum !== sums[bucket]) differing.add(bucket);
    if (differing.size > 0) this.#digest(link, differing, true);
  }

  onDigest(link: string, digest: Extract<Message, { kind: 'digest' }>): void {
    if (digest.requested) this.#digest(link, digest.buckets, false);
    const state = this.#links.get(link);
    if (state === undefined) return;
    for (const { router, epoch, parts } of this.#withRoom(state, digest.versions)) {
      for (const { part, counter, check } of parts) {
        const version = { epoch, part, counter, check };
        if (!this.#context.database.isNew(router, version)) continue;
        if (state.neededParts >= MOST_NEEDED) state.overflowed = true;
        else want(state, router, version);
      }
    }
    this.#ask();
  }

  /** Limits requests for routers that would evict reachable ones. The selection changes each second. */
  #withRoom(state: LinkExchange, versions: readonly VersionsOf[]): readonly VersionsOf[] {
    const { database } = this.#context;
    const clock = this.#context.clock();
    // Unreachable routers are evicted before reachable ones, so they take no capacity from others.
    const isFull = database.isFull && this.#context.reachable().length >= database.routers.size;
    const isUnknown = ({ router }: VersionsOf): boolean => !database.routers.has(router) && (isFull || database.isSiteFull(router));
    const unknownRouters = versions.filter(isUnknown);
    const first = unknownRouters.length === 0 ? 0 : Math.floor(clock / 1000) % unknownRouters.length;
    const some = new Set([...unknownRouters.slice(first), ...unknownRouters.slice(0, first)].slice(0, state.unknownRouters.left(clock)));
    for (let left = some.size; left > 0; left -= 1) state.unknownRouters.take(clock);
    return versions.filter((entry) => !isUnknown(entry) || some.has(entry));
  }

  /** @throws RoutingError if the peer did not wait for the answer to its last request */
  onRequest(link: string, request: Extract<Message, { kind: 'request' }>): void {
    const state = this.#links.get(link);
    if (state === undefined) return;
    if (state.deferred !== undefined)
      throw new RoutingError('routing-request', 'The peer sends a request before its last one was answered.');
    if (state.answers.take(this.#context.clock())) this.#answer(link, request);
    else state.deferred = request;
  }

  #answer(link: string, request: Extract<Message, { kind: 'request' }>): void {
    const records: AgedRecord[] = [];
    for (const { router, parts } of request.parts) {
      const known = this.#context.database.routers.get(router);
      if (known === undefined) continue;
      const age = this.#context.age(router);
      for (const part of parts) {
        const record = partOf(known, part);
        if (record !== undefined) records.push({ age, bytes: record.bytes });
      }
    }
    for (const message of writeRecords(records, this.#context.messageBytes)) this.#context.send(link, message);
    this.#context.send(link, writeDone());
  }

  onDone(link: string): void {
    const state = this.#links.get(link);
    if (state === undefined || state.asked.length === 0) return;
    this.#release(state);
    this.#ask();
    if (state.overflowed && state.needed.size === 0) {
      state.overflowed = false;
      this.summarize(link);
    }
  }

  /** Gives up on late answers, and starts the comparisons that are due. */
  tick(): void {
    for (const [link, state] of this.#links) {
      if (this.#context.clock() - state.compared >= state.every) this.summarize(link);
      if (state.deferred !== undefined && state.answers.take(this.#context.clock())) {
        this.#answer(link, state.deferred);
        state.deferred = undefined;
      }
      if (state.asked.length > 0 && this.#context.clock() - state.since > ANSWER_WITHIN) this.#release(state);
    }
    this.#dropAsked();
    this.#ask();
  }

  /** Rate-limited, because a short request asks for a long digest. When limited, our summary restarts the comparison later. */
  #digest(link: string, of: ReadonlySet<number>, requested: boolean): void {
    if (this.#links.get(link)?.digests.take(this.#context.clock()) !== true) {
      this.#context.postponed(link);
      return;
    }
    // Nearest first, so that the peer requests them in this order. Each router is then reachable when its record arrives, and is not
    // evicted.
    const versions = this.#context.database.versions(of, this.#context.reachable());
    for (const message of writeDigest(requested, of, versions, this.#context.messageBytes)) this.#context.send(link, message);
  }

  /**
   * Lets other links request the missing records at once. For a while they do not wait for a peer that claims to have them either.
   * Otherwise a peer could withhold the records of any router.
   */
  #release(state: LinkExchange): void {
    for (const { name, router, version } of state.asked) {
      const asked = this.#asked.get(name);
      if (asked === undefined) continue;
      if (this.#context.database.isNew(router, version)) asked.isAwaited = false;
      else this.#asked.delete(name);
    }
    state.asked = [];
  }

  #dropAsked(): void {
    for (const [name, { since }] of this.#asked) {
      // Entries are in the order of their age.
      if (this.#context.clock() - since < ASKED_FOR) return;
      this.#asked.delete(name);
    }
  }

  /** Sends the next request on each link without a pending one. Records that would not be accepted now stay needed. */
  #ask(): void {
    for (const [link, state] of this.#links) {
      if (state.asked.length > 0 || state.needed.size === 0) continue;
      const parts = this.#choose(link, state);
      if (parts.length === 0) continue;
      state.since = this.#context.clock();
      for (const { name } of state.asked) {
        if (!this.#asked.has(name) && this.#asked.size < MOST_NEEDED) this.#asked.set(name, { since: state.since, isAwaited: true });
      }
      this.#context.send(link, writeRequest(parts));
    }
  }

  /**
   * Skips the parts of a router beyond its rate limit. A peer may name thousands of parts, and each message of any peer causes a scan.
   */
  #choose(link: string, state: LinkExchange): PartsOf[] {
    const chosen: PartsOf[] = [];
    for (const [router, needed] of state.needed) {
      const most = Math.min(this.#context.room(link, router), LONGEST_REQUEST - state.asked.length);
      if (most === 0) continue;
      const parts = this.#chooseOf(router, needed, state, most);
      if (needed.size === 0) state.needed.delete(router);
      if (parts.length > 0) chosen.push({ router, parts });
      if (state.asked.length >= LONGEST_REQUEST) break;
    }
    return chosen;
  }

  #chooseOf(router: RouterId, needed: Map<number, RecordVersion>, state: LinkExchange, most: number): number[] {
    const parts: number[] = [];
    for (const [part, version] of needed) {
      if (parts.length >= most) break;
      const name = `${router} ${part}`;
      const asked = this.#asked.get(name);
      if (asked?.isAwaited === true && this.#context.clock() - asked.since < ALONE_FOR) continue;
      needed.delete(part);
      state.neededParts -= 1;
      if (!this.#context.database.isNew(router, version)) continue;
      parts.push(part);
      state.asked.push({ name, router, version });
    }
    return parts;
  }
}

function want(state: LinkExchange, router: RouterId, version: RecordVersion): void {
  const needed = state.needed.getOrInsertComputed(router, () => new Map());
  if (!needed.has(version.part)) state.neededParts += 1;
  needed.set(version.part, version);
}

interface Asked {
  /** Time of the first request. */
  readonly since: number;
  /** Whether other links wait for this answer (for at most `ALONE_FOR`). */
  isAwaited: boolean;
}

interface LinkExchange {
  /** Versions that are newer at the peer, by router and part. */
  readonly needed: Map<RouterId, Map<number, RecordVersion>>;
  neededParts: number;
  /** Records of the pending request. */
  asked: { readonly name: string; readonly router: RouterId; readonly version: RecordVersion }[];
  since: number;
  /** Time of the last summary in either direction; the next one is due after `every`. */
  compared: number;
  readonly every: number;
  /** Request beyond the rate limit, to be answered later. */
  deferred: Extract<Message, { kind: 'request' }> | undefined;
  readonly unknownRouters: RateLimiter;
  readonly digests: RateLimiter;
  readonly answers: RateLimiter;
  /** Whether the peer had more records than `needed` can hold. */
  overflowed: boolean;
}

const MOST_NEEDED = 16_384;
const ANSWER_WITHIN = 15_000;
/** Time that a link with a pending request may keep others from requesting a record, and the interval after which it may do so again. */
const [ALONE_FOR, ASKED_FOR] = [2000, 60_000];
