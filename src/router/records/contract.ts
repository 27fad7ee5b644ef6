/** Records of connections: what a router shows of its live connections, and of those that ended or failed. */
import type { FailureCode } from '../local/failure.ts';
import type { ConnectionEnd } from '../connection-end.ts';

/** Part of a connection's path that this router has: the client's end, a router in between, or the server's end. */
export type Half = 'first' | 'transit' | 'last';

export type RecordState = 'open' | 'ended' | 'failed';

/** A connection as one router sees it. Records of other routers with the same ID have the other halves. */
export interface ConnectionRecord {
  /** The same at all routers on the path. */
  readonly id: string;
  readonly key: string;
  readonly state: RecordState;
  /** RFC 3339. */
  readonly begun: string;
  /** RFC 3339; null while it is open. */
  readonly ended: string | null;
  /** Milliseconds since bytes last passed, to about 500 ms; null unless it is open. */
  readonly idle: number | null;
  /** `site` is an ID. Null: unknown here. */
  readonly from: {
    readonly site: string | null;
    readonly siteName: string | null;
    readonly client: string | null;
    readonly listener: string | null;
  };
  /** Routers between both ends, as far as this one knows them. */
  readonly via: readonly string[];
  readonly to: {
    readonly site: string | null;
    readonly siteName: string | null;
    readonly router: string | null;
    readonly server: string | null;
  };
  /** Bytes to the server and to the client. */
  readonly bytes: { readonly up: number; readonly down: number };
  /** Milliseconds until a server accepted it, and until the server's first byte. Null: not yet, or not at all. */
  readonly ms: { readonly connect: number | null; readonly firstByte: number | null };
  /** How it ended or why it failed; null while it is open. */
  readonly end: ConnectionEnd | FailureCode | null;
  /** Further text about a failure. */
  readonly message: string | null;
  readonly halves: readonly Half[];
  /** Number of connections for which this record stands: those of its state since the last one that was recorded. */
  readonly of: number;
}

/** Selects records. All that is given must match. */
export interface RecordQuery {
  readonly state: RecordState;
  readonly id?: string;
  readonly key?: string;
  /** ID or name of the site at either end. */
  readonly site?: string;
  /** Least age, and time without bytes, in milliseconds. `idle` selects open connections only. */
  readonly age?: number;
  readonly idle?: number;
  /** Number from an earlier page. */
  readonly cursor?: number;
  /** Leaves out ended and failed connections up to this `latest` of an earlier page. */
  readonly after?: number;
  readonly limit: number;
}

export interface RecordPage {
  /** Ended and failed ones: most recent first. */
  readonly items: readonly ConnectionRecord[];
  /** Cursor of the next page, which may be empty; undefined at the end. */
  readonly next: number | undefined;
  /** Number of records of the state, whether they match or not. */
  readonly total: number;
  /** Number of ended and failed connections recorded so far. */
  readonly latest: number;
}

/** A request that an observer saw at the client's end of a connection. */
export interface RequestRecord {
  /** Time of the response, RFC 3339. */
  readonly at: string;
  /** ID of the connection. */
  readonly connection: string;
  readonly key: string;
  readonly protocol: 'http1' | 'http2';
  /** One of RFC 9110 and RFC 5789, or `other`. */
  readonly method: string;
  readonly status: number;
  /** Milliseconds from the request's head to the response's head. */
  readonly ms: number;
  /** Without the query; null if the Listener does not permit to record it. */
  readonly path: string | null;
  /** Number of requests for which this record stands. */
  readonly of: number;
}

/** Selects requests. All that is given must match. */
export interface RequestQuery extends Pick<RecordQuery, 'key' | 'cursor' | 'after' | 'limit'> {
  /** ID of a connection. */
  readonly connection?: string;
}

export interface RequestPage extends Pick<RecordPage, 'next' | 'total' | 'latest'> {
  /** The latest first. */
  readonly items: readonly RequestRecord[];
}

/** The records of a router, for its API. */
export interface RecordsView {
  /** Examines a bounded number of records, so a page may have few items or none. */
  list(query: RecordQuery): RecordPage;
  listRequests(query: RequestQuery): RequestPage;
  /** Ends the open connections with the ID: a peer can use one again. @returns false if this router does not have any */
  end(id: string): Promise<boolean>;
}

/** What is known about a connection when it is recorded. Empty text: unknown. */
export interface ConnectionFacts {
  readonly id: string;
  readonly key: string;
  readonly halves: readonly Half[];
  /** ID of the site where it began. */
  readonly origin: string;
  readonly client: string;
  readonly listener: string;
  readonly via: readonly string[];
  /** The last router. */
  readonly to: string;
  readonly server: string;
}
