import { performance } from 'node:perf_hooks';
import { RateLimiter } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';
import type { ConnectionEnd } from '../connection-end.ts';
import type { Failure } from '../local/failure.ts';
import { siteOf } from '../../routing/names.ts';
import { pause } from '../../work/pause.ts';
import { coarseClock, runCoarseClock } from './coarse-clock.ts';
import type { ConnectionFacts, ConnectionRecord, RecordPage, RecordQuery, RecordsView, RequestPage, RequestQuery } from './contract.ts';
import { EndedRecords, type EndedRecord } from './ended-records.ts';
import { BEGUN, BYTES, CONNECTED, FIRST, LAST, TO_CLIENT, TO_SERVER, type Figures } from './figures.ts';
import { LiveRecords } from './live-records.ts';
import { RecordSampler } from './record-sampler.ts';
import { RequestRecords } from './request-records.ts';

/** Maximum number of records that are examined in one event-loop iteration. */
const MOST_EXAMINED = limitTable.recordsListed.value;

/** An open connection. */
export interface LiveConnection {
  readonly id: string;
  /** Called when the record is listed or ends, since addresses take system calls. */
  facts(): ConnectionFacts;
  /** Resets both ends. */
  end(): void;
}

export interface RecordsOptions {
  /** Number of ended and failed connections to keep; at least 1. */
  readonly size: number;
  /** Name of a site by its ID; undefined if unknown. */
  readonly siteName: (siteId: string) => string | undefined;
}

/** Records of a router's connections: live ones in slots, the last ended and failed ones in a ring. */
export class ConnectionRecords implements RecordsView, Disposable {
  readonly #live = new LiveRecords<LiveConnection>();
  readonly #ended: EndedRecords;
  readonly #siteName: RecordsOptions['siteName'];
  readonly #samplers = {
    failed: new RecordSampler(limitTable.recordsWritten.value),
    ended: new RecordSampler(limitTable.recordsWritten.value),
  };
  readonly #addresses = new RateLimiter(limitTable.recordsWritten.value);
  readonly requests = new RequestRecords();
  readonly #counts = { ended: 0, failed: 0 };
  readonly #clock = runCoarseClock();

  constructor({ size, siteName }: RecordsOptions) {
    this.#ended = new EndedRecords(size, limitTable.recordTexts.value);
    this.#siteName = siteName;
  }

  [Symbol.dispose](): void {
    this.#clock[Symbol.dispose]();
  }

  /** Whether to read the addresses of a new connection now. After its end they cannot be read. */
  readsAddresses(): boolean {
    return this.#addresses.take(coarseClock.now);
  }

  /** Adds a connection that a server accepted. @param begun time of `performance.now()` @returns its slot and figures */
  opened(connection: LiveConnection, begun: number): { readonly slot: number; readonly figures: Figures } {
    const slot = this.#live.add(connection);
    const figures = this.#live.figures(slot);
    figures.page[figures.at + BEGUN] = begun;
    figures.page[figures.at + CONNECTED] = performance.now();
    figures.page[figures.at + TO_SERVER + LAST] = figures.page[figures.at + TO_CLIENT + LAST] = coarseClock.now;
    return { slot, figures };
  }

  /** Moves a connection from the live ones to the ended ones. */
  ended(slot: number, connection: LiveConnection, key: string, end: ConnectionEnd): void {
    const now = performance.now();
    const of = this.#samplers.ended.take(key, now);
    if (of > 0) {
      const { page, at } = this.#live.figures(slot);
      const begun = page[at + BEGUN] ?? 0;
      const first = page[at + TO_CLIENT + FIRST] ?? 0;
      this.#add({
        ...connection.facts(),
        state: 'ended',
        begun: wallClock(begun),
        duration: now - begun,
        connect: (page[at + CONNECTED] ?? 0) - begun,
        firstByte: first === 0 ? NaN : first - begun,
        toServer: page[at + TO_SERVER + BYTES] ?? 0,
        toClient: page[at + TO_CLIENT + BYTES] ?? 0,
        end,
        message: '',
        of,
      });
    }
    this.#live.delete(slot);
  }

  /** Adds a connection that no server accepted. @param begun time of `performance.now()` */
  failed(key: string, begun: number, { code, message }: Pick<Failure, 'code' | 'message'>, facts: () => ConnectionFacts): void {
    const now = performance.now();
    const of = this.#samplers.failed.take(key, now);
    if (of === 0) return;
    const never = { connect: NaN, firstByte: NaN, toServer: 0, toClient: 0 };
    this.#add({ ...facts(), ...never, state: 'failed', begun: wallClock(begun), duration: now - begun, end: code, message, of });
  }

  list(query: RecordQuery): RecordPage {
    return query.state === 'open' ? this.#listLive(query) : this.#listEnded(query, query.state);
  }

  listRequests(query: RequestQuery): RequestPage {
    return this.requests.list(query);
  }

  async end(id: string): Promise<boolean> {
    let isFound = false;
    for (let slot = 0; slot < this.#live.end; slot += MOST_EXAMINED) {
      if (slot > 0) await pause(0);
      for (const [, connection] of this.#live.from(slot, MOST_EXAMINED)) {
        if (connection?.id !== id) continue;
        connection.end();
        isFound = true;
      }
    }
    return isFound;
  }

  #add(record: EndedRecord): void {
    const { isFull, oldest } = this.#ended;
    if (isFull) this.#counts[this.#ended.state(oldest)] -= 1;
    this.#ended.add(record);
    this.#counts[record.state] += 1;
  }

  #listLive(query: RecordQuery): RecordPage {
    const start = query.cursor ?? 0;
    const items: ConnectionRecord[] = [];
    let next = start;
    for (const [slot, connection] of this.#live.from(start, MOST_EXAMINED)) {
      if (items.length >= query.limit) break;
      next = slot + 1;
      if (connection === undefined || (query.id !== undefined && query.id !== connection.id)) continue;
      const record = this.#live.figures(slot);
      if (!isOld(record, query)) continue;
      const shown = this.#showLive(connection.facts(), record);
      if (this.#matches(shown, query)) items.push(shown);
    }
    return { items, next: next < this.#live.end ? next : undefined, total: this.#live.size, latest: this.#ended.added };
  }

  #listEnded(query: RecordQuery, state: EndedRecord['state']): RecordPage {
    const ended = this.#ended;
    const items: ConnectionRecord[] = [];
    const least = Math.max(ended.oldest, (query.after ?? 0) + 1);
    let at = Math.min(ended.added, query.cursor ?? ended.added);
    for (let examined = 0; at >= least && examined < MOST_EXAMINED && items.length < query.limit; examined += 1, at -= 1) {
      if (ended.state(at) !== state) continue;
      const record = ended.get(at);
      if (query.age !== undefined && record.duration < query.age) continue;
      const shown = this.#showEnded(record);
      if (this.#matches(shown, query)) items.push(shown);
    }
    return { items, next: at >= least ? at : undefined, total: this.#counts[state], latest: ended.added };
  }

  #matches({ id, key, from, to }: ConnectionRecord, query: RecordQuery): boolean {
    if (query.id !== undefined && query.id !== id) return false;
    if (query.key !== undefined && query.key !== key) return false;
    return query.site === undefined || [from.site, from.siteName, to.site, to.siteName].includes(query.site);
  }

  #showLive(facts: ConnectionFacts, { page, at }: Figures): ConnectionRecord {
    const begun = page[at + BEGUN] ?? 0;
    const first = page[at + TO_CLIENT + FIRST] ?? 0;
    return {
      ...this.#show(facts),
      state: 'open',
      begun: timestamp(wallClock(begun)),
      ended: null,
      idle: Math.max(0, Math.round(coarseClock.now - lastOf({ page, at }))),
      bytes: { up: page[at + TO_SERVER + BYTES] ?? 0, down: page[at + TO_CLIENT + BYTES] ?? 0 },
      ms: { connect: tenths((page[at + CONNECTED] ?? 0) - begun), firstByte: first === 0 ? null : tenths(first - begun) },
      end: null,
      message: null,
      of: 1,
    };
  }

  #showEnded(record: EndedRecord): ConnectionRecord {
    const { state, begun, duration, connect, firstByte, toServer, toClient, end, message, of } = record;
    return {
      ...this.#show(record),
      state,
      begun: timestamp(begun),
      ended: timestamp(begun + duration),
      idle: null,
      bytes: { up: toServer, down: toClient },
      ms: { connect: tenths(connect), firstByte: tenths(firstByte) },
      end,
      message: message === '' ? null : message,
      of,
    };
  }

  #show({
    id,
    key,
    halves,
    origin,
    client,
    listener,
    via,
    to,
    server,
  }: ConnectionFacts): Pick<ConnectionRecord, 'id' | 'key' | 'halves' | 'from' | 'via' | 'to'> {
    const destination = to === '' ? '' : siteOf(to);
    return {
      id,
      key,
      halves,
      from: { ...this.#site(origin), client: orNull(client), listener: orNull(listener) },
      via,
      to: { ...this.#site(destination), router: orNull(to), server: orNull(server) },
    };
  }

  #site(id: string): { readonly site: string | null; readonly siteName: string | null } {
    return id === '' ? { site: null, siteName: null } : { site: id, siteName: this.#siteName(id) ?? null };
  }
}

/** Filters of live connections that need no text. */
function isOld(figures: Figures, { age = 0, idle = 0 }: RecordQuery): boolean {
  const begun = figures.page[figures.at + BEGUN] ?? 0;
  return performance.now() - begun >= age && (idle === 0 || coarseClock.now - lastOf(figures) >= idle);
}

function lastOf({ page, at }: Figures): number {
  return Math.max(page[at + TO_SERVER + LAST] ?? 0, page[at + TO_CLIENT + LAST] ?? 0);
}

const orNull = (text: string): string | null => (text === '' ? null : text);

const tenths = (milliseconds: number): number | null => (Number.isNaN(milliseconds) ? null : Math.round(milliseconds * 10) / 10);

/** Milliseconds since 1970 of a time of `performance.now()`, by the wall clock as it is now. */
const wallClock = (time: number): number => Date.now() - performance.now() + time;

const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();
