import { RateLimiter } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';
import type { RequestSink } from '../observers/contract.ts';
import { METHOD_NAMES, type Protocol } from '../observers/request-metrics.ts';
import { coarseClock } from './coarse-clock.ts';
import type { RequestPage, RequestQuery, RequestRecord } from './contract.ts';
import { RecentTexts } from './recent-texts.ts';
import { ID_WIDTH, TextColumn } from './text-column.ts';

const SIZE = limitTable.requestRecords.value;
const PATH_WIDTH = limitTable.requestPath.value;
const MOST_EXAMINED = limitTable.recordsListed.value;
const PROTOCOLS: readonly Protocol[] = ['http1', 'http2'];

/** Connection whose requests are recorded. */
export interface RecordedConnection {
  readonly id: string;
  readonly key: string;
  readonly protocol: Protocol;
  /** Whether its Listener permits to record paths. */
  readonly hasPaths: boolean;
}

/** The last requests that observers saw, in columns of numbers. The first one allocates them. */
export class RequestRecords {
  #columns: Columns | undefined;
  #paths: TextColumn | undefined;
  readonly #keys = new RecentTexts(limitTable.recordTexts.value);
  readonly #limiter = new RateLimiter(limitTable.requestsRecorded.value);
  #added = 0;
  #skipped = 0;

  /** Records requests of one connection besides passing them on. */
  sinkFor(connection: RecordedConnection, next: RequestSink): RequestSink {
    return {
      wantsPath: connection.hasPaths,
      onRequest: (method, status, milliseconds, path = '') => {
        next.onRequest(method, status, milliseconds);
        this.#add(connection, { method, status, milliseconds, path });
      },
    };
  }

  list({ key, connection, cursor, after = 0, limit }: RequestQuery): RequestPage {
    const items: RequestRecord[] = [];
    const oldest = Math.max(1, this.#added - SIZE + 1);
    const least = Math.max(oldest, after + 1);
    let at = Math.min(this.#added, cursor ?? this.#added);
    for (let examined = 0; at >= least && examined < MOST_EXAMINED && items.length < limit; examined += 1, at -= 1) {
      const record = this.#get(at);
      if (record === undefined || (key !== undefined && key !== record.key)) continue;
      if (connection === undefined || connection === record.connection) items.push(record);
    }
    return { items, next: at >= least ? at : undefined, total: this.#added - oldest + 1, latest: this.#added };
  }

  #add(
    { id, key, protocol }: RecordedConnection,
    request: { readonly method: string; readonly status: number; readonly milliseconds: number; readonly path: string },
  ): void {
    if (!this.#limiter.take(coarseClock.now)) {
      this.#skipped += 1;
      return;
    }
    const columns = (this.#columns ??= createColumns());
    const index = this.#added % SIZE;
    this.#added += 1;
    columns.ids.set(index, id);
    columns.keys[index] = this.#keys.numberOf(key);
    columns.times[index] = Date.now();
    columns.durations[index] = request.milliseconds;
    columns.statuses[index] = request.status;
    columns.methods[index] = Math.max(0, METHOD_NAMES.indexOf(request.method) + 1);
    columns.protocols[index] = PROTOCOLS.indexOf(protocol);
    columns.of[index] = this.#skipped + 1;
    this.#skipped = 0;
    if (request.path !== '') this.#paths ??= new TextColumn(SIZE, PATH_WIDTH);
    this.#paths?.set(index, request.path);
  }

  #get(number: number): RequestRecord | undefined {
    const columns = this.#columns;
    if (columns === undefined) return undefined;
    const index = (number - 1) % SIZE;
    return {
      at: new Date(columns.times[index] ?? 0).toISOString(),
      connection: columns.ids.get(index),
      key: this.#keys.textOf(columns.keys[index] ?? 0),
      protocol: PROTOCOLS[columns.protocols[index] ?? 0] ?? 'http1',
      method: METHOD_NAMES[(columns.methods[index] ?? 0) - 1] ?? 'other',
      status: columns.statuses[index] ?? 0,
      ms: Math.round((columns.durations[index] ?? 0) * 10) / 10,
      path: this.#paths?.get(index) || null,
      of: columns.of[index] ?? 1,
    };
  }
}

type Columns = ReturnType<typeof createColumns>;

function createColumns() {
  return {
    ids: new TextColumn(SIZE, ID_WIDTH),
    keys: new Uint32Array(SIZE),
    times: new Float64Array(SIZE),
    durations: new Float32Array(SIZE),
    statuses: new Uint16Array(SIZE),
    methods: new Uint8Array(SIZE),
    protocols: new Uint8Array(SIZE),
    of: new Uint32Array(SIZE),
  };
}
