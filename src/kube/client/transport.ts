import { performance } from 'node:perf_hooks';

import type { Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';

import type { ConfigSource, Connection } from './connection.ts';
import { TransportError } from '../errors.ts';
import { exchange } from './exchange.ts';
import type { Answer, Exchange } from './exchange.ts';
import { Semaphore } from '../../limits/loop/semaphore.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

export interface TransportOptions {
  readonly config: ConfigSource;
  readonly connections?: number;
  readonly reloadAfter?: number;
  readonly refreshPause?: number;
}

/**
 * Connections to one API server. Follows changes of the settings.
 *
 * Invariants:
 * - Requests share at most `connections` keep-alive connections, with one request at a time on each (HTTP/1.1 without pipelining,
 *   so a slow response delays no other). They wait for a slot before they reach the pool, because undici can cancel a request in
 *   its own queue only by closing the connection.
 * - Watches and streams to pods have a separate, unbounded pool, because each holds its connection for minutes. So they never starve
 *   requests. Their number is that of the informers and of the pods.
 * - Settings are at most `reloadAfter` old when a request starts. After a change that affects the connection, new requests use
 *   new pools, and old pools end with their last request.
 */
export class Transport implements AsyncDisposable {
  readonly #source: ConfigSource;
  readonly #connections: number;
  readonly #reloadAfter: number;
  readonly #refreshPause: number;
  readonly #slots: Semaphore;
  readonly #retired = new Set<Pools>();
  #current: Pools | undefined;
  #loading: Promise<Pools> | undefined;
  #loadedAt = 0;
  #closed = false;

  constructor(options: TransportOptions) {
    this.#source = options.config;
    this.#connections = options.connections ?? CONNECTIONS;
    this.#reloadAfter = options.reloadAfter ?? RELOAD_AFTER;
    this.#refreshPause = options.refreshPause ?? REFRESH_PAUSE;
    this.#slots = new Semaphore(this.#connections, WAITING_LIMIT);
  }

  async send(request: Omit<Exchange, 'headers'>, headers: readonly string[]): Promise<Answer> {
    if (isLong(request)) return this.#exchange(request, headers);
    const startedAt = performance.now();
    const answer = await this.#slots.take(request);
    if (answer !== 'granted') throw noSlot(request, answer);
    try {
      return await this.#exchange({ ...request, deadline: request.deadline - (performance.now() - startedAt) }, headers);
    } finally {
      this.#slots.giveBack();
    }
  }

  /** Reads the settings again, at most once a second; true if they changed. Called if they may be the cause of a failure. */
  async refresh(): Promise<boolean> {
    const before = this.#current;
    if (before === undefined || this.#closed || performance.now() - this.#loadedAt < this.#refreshPause) return false;
    await this.#load();
    const after = this.#current;
    return after !== before;
  }

  /** Ends all exchanges in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const all = [...this.#retired, ...(this.#current === undefined ? [] : [this.#current])];
    this.#retired.clear();
    await Promise.all(all.flatMap(({ requests, watches }) => [requests.destroy(), watches.destroy()]));
  }

  async #exchange(request: Omit<Exchange, 'headers'>, headers: readonly string[]): Promise<Answer> {
    const pools = this.#closed ? undefined : (this.#fresh() ?? (await this.#load()));
    if (pools === undefined || this.#closed) throw closedError(request.call);
    return exchange(isLong(request) ? pools.watches : pools.requests, {
      ...request,
      path: pools.prefix + request.path,
      headers: pools.authorization === undefined ? headers : [...headers, 'authorization', pools.authorization],
    });
  }

  #fresh(): Pools | undefined {
    return performance.now() - this.#loadedAt < this.#reloadAfter ? this.#current : undefined;
  }

  #load(): Promise<Pools> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #read(): Promise<Pools> {
    let connection: Connection;
    try {
      connection = await this.#source.load();
    } catch (cause) {
      // Files that are being replaced are unreadable for a moment. The previous settings may still work.
      if (this.#current === undefined) throw cause;
      this.#loadedAt = performance.now();
      return this.#current;
    }
    if (this.#closed) throw closedError('request');
    this.#loadedAt = performance.now();
    this.#current = this.#follow(this.#current, connection);
    return this.#current;
  }

  #follow(before: Pools | undefined, connection: Connection): Pools {
    const authorization = connection.token === undefined ? undefined : `Bearer ${connection.token}`;
    if (before !== undefined && sameEndpoint(before.connection, connection)) {
      return before.authorization === authorization ? before : { ...before, connection, authorization };
    }
    if (before !== undefined) this.#retire(before);
    return { ...openPools(connection, this.#connections), connection, authorization };
  }

  #retire(pools: Pools): void {
    this.#retired.add(pools);
    void Promise.allSettled([pools.requests.close(), pools.watches.close()]).then(() => this.#retired.delete(pools));
  }
}

interface Pools {
  readonly connection: Connection;
  readonly authorization: string | undefined;
  readonly prefix: string;
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

/** Equals the number of concurrent reconciles. */
const CONNECTIONS = 32;
/** The kubelet rotates a token well before it expires; client-go also waits a minute. */
const RELOAD_AFTER = 60_000;
const REFRESH_PAUSE = 1_000;
/** Far above any caller's concurrency: reached only if a caller exceeds its own limit. */
const WAITING_LIMIT = 10_000;
/** Less than the 90 s after which the API server closes idle connections, so that no request uses a closing one. */
const KEEP_ALIVE = 60_000;
const CONNECT_TIMEOUT = 10_000;

/** Whether the request holds its connection: a watch, or a stream to a pod. */
function isLong({ stream, upgrade }: Pick<Exchange, 'stream' | 'upgrade'>): boolean {
  return stream !== undefined || upgrade !== undefined;
}

function openPools(connection: Connection, connections: number): Pick<Pools, 'prefix' | 'requests' | 'watches'> {
  const url = new URL(connection.server);
  const options = {
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE,
    keepAliveMaxTimeout: KEEP_ALIVE,
    // The exchange has its own deadline: one timer for each request.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: CONNECT_TIMEOUT,
      keepAliveInitialDelay: 30_000,
      ca: connection.ca,
      cert: connection.cert,
      key: connection.key,
      ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
      ...(connection.insecureSkipVerify === true ? { rejectUnauthorized: false } : {}),
    },
  };
  try {
    return {
      prefix: url.pathname.replace(/\/+$/, ''),
      requests: new Pool(url.origin, { ...options, connections }),
      watches: new Pool(url.origin, options),
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EarshotError('kube-config', `No connection to ${connection.server} can be set up: ${why}`, cause);
  }
}

/** Whether the connection settings are equal. A new token needs no new connection, because each request carries it. */
function sameEndpoint(a: Connection, b: Connection): boolean {
  return (
    a.server === b.server &&
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.serverName === b.serverName &&
    a.insecureSkipVerify === b.insecureSkipVerify
  );
}

function noSlot({ call, deadline }: Pick<Exchange, 'call' | 'deadline'>, answer: 'full' | 'late'): TransportError {
  return answer === 'full'
    ? new TransportError('kube-busy', `${call}: ${WAITING_LIMIT} requests wait for a connection already.`, { sent: false })
    : new TransportError('kube-timeout', `${call}: no connection was free within ${Math.round(deadline)} ms.`, { sent: false });
}

function closedError(call: string): TransportError {
  return new TransportError('kube-closed', `${call}: the client is closed.`, { sent: false });
}
