import { limitTable } from '../../limits/table.ts';
import { Buckets } from '../../telemetry/buckets.ts';
import { RequestMetrics, type Protocol } from '../observers/request-metrics.ts';
import type { ConnectionEnd } from '../connection-end.ts';
import type { FailureCode } from './failure.ts';
import type { ByteCount, Counts } from '../connection-half.ts';

/** Role of this router for a connection: it came to a listener (or a link without a route) here, or went to a server here. */
export type Role = 'listener' | 'connector';

/** Bucket boundaries in seconds. */
const CONNECT_TIMES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** Counts of one routing key in one role with one site at the other end. */
export interface SiteCounts extends Counts {
  /** ID; empty if it is not known. */
  readonly site: string;
  opened: number;
  failed: number;
}

/** Counts of one routing key in one role: plain numbers, read at each scrape. */
export class KeyMetrics {
  readonly routingKey: string;
  readonly role: Role;
  opened = 0;
  open = 0;
  readonly failed = new Map<FailureCode, number>();
  readonly ended = new Map<ConnectionEnd, number>();
  /** Each connection counts its bytes at one of these. */
  readonly sites = new Map<string, SiteCounts>();
  readonly connectTime = new Buckets(CONNECT_TIMES);

  constructor(routingKey: string, role: Role) {
    this.routingKey = routingKey;
    this.role = role;
  }

  /** Sums over all sites, computed when read. */
  get toServer(): Readonly<ByteCount> {
    return this.#sum('toServer');
  }

  get toClient(): Readonly<ByteCount> {
    return this.#sum('toClient');
  }

  #sum(direction: keyof Counts): ByteCount {
    let bytes = 0;
    for (const site of this.sites.values()) bytes += site[direction].bytes;
    return { bytes };
  }

  countEnd(end: ConnectionEnd): void {
    this.ended.set(end, (this.ended.get(end) ?? 0) + 1);
  }

  countFailure(code: FailureCode): void {
    this.failed.set(code, (this.failed.get(code) ?? 0) + 1);
  }
}

/** Label of all keys that this router's configuration does not name: peers can ask for any number of them. */
const OTHER_KEYS = '(other)';
/**
 * Maximum number of sites with their own label, for one key and for all keys, since the process started. Other sites share one label,
 * because linked sites may invent any number.
 */
const MOST_SITES = limitTable.requestSeriesOfKey.value;
const MOST_OF_ALL = limitTable.requestSeries.value;

/** Counts of each key that the configuration names. All other keys share one. */
export class MetricsByKey {
  readonly #byRole: Readonly<Record<Role, Map<string, KeyMetrics>>> = { listener: new Map(), connector: new Map() };
  readonly #requests = new Map<string, Map<string, RequestMetrics>>();
  /** Total number of request metrics, counted because each connection may need it and there may be thousands of keys. */
  #created = 0;
  /** Total number of counts by site. */
  #sites = 0;

  of(routingKey: string, role: Role): KeyMetrics {
    const byKey = this.#byRole[role];
    const known = byKey.get(routingKey) ?? byKey.get(OTHER_KEYS);
    if (known !== undefined) return known;
    const created = new KeyMetrics(OTHER_KEYS, role);
    byKey.set(OTHER_KEYS, created);
    return created;
  }

  /** Counts for a connection that is opened or has failed now. @param site ID of the site at its other end */
  ofSite({ sites }: KeyMetrics, site: string): SiteCounts {
    const known = sites.get(site);
    if (known !== undefined) return known;
    const name = sites.size < MOST_SITES && this.#sites < MOST_OF_ALL ? site : OTHER_KEYS;
    const other = sites.get(name);
    if (other !== undefined) return other;
    const created = { site: name, opened: 0, failed: 0, toServer: { bytes: 0 }, toClient: { bytes: 0 } };
    sites.set(name, created);
    this.#sites += 1;
    return created;
  }

  /** Request metrics of connections that come to listeners, so the key is configured. */
  requests(routingKey: string, from: string, to: string, protocol: Protocol): RequestMetrics {
    const known = this.#requests.get(routingKey)?.get(`${protocol} ${to}`);
    if (known !== undefined) return known;
    const ofKey = this.#requests.getOrInsertComputed(routingKey, () => new Map());
    const site = ofKey.size < MOST_SITES && this.#created < MOST_OF_ALL ? to : OTHER_KEYS;
    const name = `${protocol} ${site}`;
    const other = ofKey.get(name);
    if (other !== undefined) return other;
    const created = new RequestMetrics(routingKey, from, site, protocol);
    ofKey.set(name, created);
    this.#created += 1;
    return created;
  }

  /** Counts of keys that are no longer configured stay while connections are open, so that they never fall below zero. */
  configure(role: Role, routingKeys: Iterable<string>): void {
    const desired = new Set(routingKeys);
    const byKey = this.#byRole[role];
    for (const [key, { open, sites }] of byKey) {
      if (desired.has(key) || key === OTHER_KEYS || open > 0) continue;
      byKey.delete(key);
      this.#sites -= sites.size;
      if (role !== 'listener') continue;
      this.#created -= this.#requests.get(key)?.size ?? 0;
      this.#requests.delete(key);
    }
    for (const key of desired) if (!byKey.has(key)) byKey.set(key, new KeyMetrics(key, role));
  }

  /** Undefined for a key that is not configured in that role. */
  get(routingKey: string, role: Role): KeyMetrics | undefined {
    return this.#byRole[role].get(routingKey);
  }

  requestsOf(routingKey: string): Iterable<RequestMetrics> {
    return this.#requests.get(routingKey)?.values() ?? [];
  }

  *all(): Iterable<KeyMetrics> {
    yield* this.#byRole.listener.values();
    yield* this.#byRole.connector.values();
  }

  *allRequests(): Iterable<RequestMetrics> {
    for (const ofKey of this.#requests.values()) yield* ofKey.values();
  }
}
