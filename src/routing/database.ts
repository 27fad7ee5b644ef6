import type { Buffer } from 'node:buffer';
import { BUCKETS } from './codec.ts';
import type { VersionsOf } from './codec.ts';
import type { RouterId, RoutingLimits } from './contract.ts';
import { RECORD_OVERHEAD, SHARE_OF_ROUTER, SLACK } from './limits.ts';
import { bodyOf, signatureOf } from './record.ts';
import type { About, RecordVersion, RouteRecord } from './record.ts';
import { siteOf } from './names.ts';

/** Known state of one router: the parts of its newest epoch. */
export interface KnownRouter {
  readonly id: RouterId;
  readonly site: string;
  readonly epoch: number;
  /** Received parts, by number. Without part 0 the router counts as unknown. */
  readonly parts: readonly RouteRecord[];
  readonly about: About | undefined;
  /** Creation time of part 0 in milliseconds of the ageing clock; the latest time that any peer announced. */
  readonly created: number;
  /** Memory cost of its records in bytes. */
  readonly bytes: number;
  /** Number of keys that it lists. */
  readonly keys: number;
  readonly neighbours: number;
}

/** Effect of storing a record. */
export interface Change {
  readonly router: RouterId;
  readonly before: readonly RouteRecord[];
  readonly after: RouteRecord | undefined;
  /** Whether neighbours or flags changed, so that paths may change. */
  readonly topology: boolean;
  /** Whether anything but the counter changed. */
  readonly content: boolean;
}

/** All records, and their checksums by bucket. It enforces the limits and knows nothing about paths. */
export class Database {
  readonly #limits: RoutingLimits;
  readonly #routers = new Map<RouterId, Entry>();
  readonly #sums = new BigUint64Array(BUCKETS);
  /** Number of stored routers by site. */
  readonly #bySite = new Map<string, number>();
  /** Totals over all routers. */
  #bytes = 0;
  #keys = 0;
  #neighbours = 0;
  #records = 0;
  #crowded = false;

  constructor(limits: RoutingLimits) {
    this.#limits = limits;
  }

  get routers(): ReadonlyMap<RouterId, KnownRouter> {
    return this.#routers;
  }

  get records(): number {
    return this.#records;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get sums(): readonly bigint[] {
    return [...this.#sums];
  }

  /** Whether a record of that version would be new. */
  isNew(router: RouterId, { epoch, part, counter, check }: RecordVersion): boolean {
    const entry = this.#routers.get(router);
    if (entry === undefined || epoch > entry.epoch) return true;
    if (epoch < entry.epoch) return false;
    const held = partOf(entry, part);
    return held === undefined || counter > held.counter || (counter === held.counter && check > held.check);
  }

  /** Handles a record that is not new. If it equals the stored record, its announced age may count. */
  confirm({ id, part }: { readonly id: RouterId; readonly part: number }, bytes: Buffer, created: number): void {
    if (partOf(this.#routers.get(id), part)?.bytes.equals(bytes) === true) this.rejuvenate(id, created);
  }

  /** Part 0 of the router was created no earlier than `made`. Peers cannot make it older: age grows by the local clock only. */
  rejuvenate(router: RouterId, created: number): void {
    const entry = this.#routers.get(router);
    if (entry !== undefined) entry.created = Math.max(entry.created, created);
  }

  /** Whether the limits were exceeded since the last `settled`. */
  get crowded(): boolean {
    return this.#crowded;
  }

  /** Called once the eviction has run. */
  settled(): void {
    this.#crowded = false;
  }

  /** Whether an unknown router would evict another router of its site. */
  isSiteFull(router: RouterId): boolean {
    return (this.#bySite.get(siteOf(router)) ?? 0) >= this.#limits.routersOfSite;
  }

  /** Whether an unknown router would evict another router of any site. */
  get isFull(): boolean {
    const { routers, databaseBytes, keys, neighbours } = this.#limits;
    return this.#bytes >= databaseBytes || this.#keys >= keys || this.#neighbours >= neighbours || this.#routers.size >= routers;
  }

  /** Whether the new record keeps to the limits of its router. */
  isAllowed(record: RouteRecord): boolean {
    const entry = this.#routers.get(record.router);
    const kept = entry !== undefined && entry.epoch === record.epoch ? entry : undefined;
    const replaced = partOf(kept, record.part);
    const keys = (kept?.keys ?? 0) - (replaced?.keys.length ?? 0) + record.keys.length;
    const neighbours = (kept?.neighbours ?? 0) - (replaced?.neighbours.length ?? 0) + record.neighbours.length;
    if (keys > this.#limits.keysOfRouter || neighbours > this.#limits.neighboursOfRouter) return false;
    return (kept?.bytes ?? 0) + growth(replaced, record) <= this.#limits.databaseBytes * SHARE_OF_ROUTER;
  }

  /** Whether the router is known, or its site has capacity for it. */
  hasPlace(router: RouterId): boolean {
    return this.#routers.has(router) || (this.#bySite.get(siteOf(router)) ?? 0) < 2 * this.#limits.routersOfSite;
  }

  /** Whether the new record fits. Slightly exceeding the limits is allowed, and an eviction follows soon. */
  fits(record: RouteRecord): boolean {
    const { routers, databaseBytes, keys, neighbours } = this.#limits;
    const entry = this.#routers.get(record.router);
    if (entry === undefined && this.#routers.size >= routers + Math.ceil(routers * SLACK)) return false;
    const replaced = entry?.epoch === record.epoch ? partOf(entry, record.part) : undefined;
    return (
      this.#bytes + growth(replaced, record) <= databaseBytes * (1 + SLACK) &&
      this.#keys + record.keys.length - (replaced?.keys.length ?? 0) <= keys * (1 + SLACK) &&
      this.#neighbours + record.neighbours.length - (replaced?.neighbours.length ?? 0) <= neighbours * (1 + SLACK)
    );
  }

  /**
   * Stores a record that is new and fits.
   * @param made when the router created its part 0, on the ageing clock; ignored if it is earlier than the known time
   */
  take(record: RouteRecord, created: number): Change {
    let entry = this.#routers.get(record.router);
    let before: RouteRecord[] = [];
    let topology = false;
    if (entry === undefined || record.epoch > entry.epoch) {
      before = entry === undefined ? [] : this.#drop(entry);
      topology = before.length > 0;
      entry = {
        id: entry?.id ?? record.router,
        site: entry?.site ?? siteOf(record.router),
        epoch: record.epoch,
        parts: [],
        about: undefined,
        created: Math.max(created, entry?.created ?? -Infinity),
        bytes: 0,
        keys: 0,
        neighbours: 0,
      };
      if (!this.#routers.has(entry.id)) this.#bySite.set(entry.site, (this.#bySite.get(entry.site) ?? 0) + 1);
      this.#routers.set(entry.id, entry);
    }
    const replaced = partOf(entry, record.part);
    if (replaced !== undefined) {
      before.push(replaced);
      this.#count(entry, replaced, -1);
    }
    entry.parts.splice(placeOf(entry.parts, record.part), replaced === undefined ? 0 : 1, record);
    this.#count(entry, record, 1);
    if (record.part === 0) {
      entry.about = record.about;
      entry.created = Math.max(entry.created, created);
    }
    const { routers, databaseBytes, keys, neighbours, routersOfSite } = this.#limits;
    this.#crowded ||= this.#bytes > databaseBytes || this.#keys > keys || this.#neighbours > neighbours;
    this.#crowded ||= this.#routers.size > routers || (this.#bySite.get(entry.site) ?? 0) > routersOfSite;
    const same = before.length === 1 && replaced !== undefined && bodyOf(replaced).equals(bodyOf(record));
    topology ||= !same && (replaced === undefined ? record.part === 0 || record.neighbours.length > 0 : topologyDiffers(replaced, record));
    return { router: entry.id, before, after: record, topology, content: !same };
  }

  /** No-op if the router is unknown. */
  forget(router: RouterId): Change | undefined {
    const entry = this.#routers.get(router);
    if (entry === undefined) return undefined;
    this.#routers.delete(router);
    const others = (this.#bySite.get(entry.site) ?? 1) - 1;
    if (others > 0) this.#bySite.set(entry.site, others);
    else this.#bySite.delete(entry.site);
    return { router, before: this.#drop(entry), after: undefined, topology: true, content: true };
  }

  /**
   * Returns the versions of all stored parts of the routers in these buckets.
   * @param first routers that precede all others, in this order
   */
  versions(of: ReadonlySet<number>, first: readonly RouterId[]): VersionsOf[] {
    const versions: VersionsOf[] = [];
    for (const id of new Set([...first, ...this.#routers.keys()])) {
      const router = this.#routers.get(id);
      if (router === undefined || !of.has(bucketOf(id))) continue;
      const { epoch, parts } = router;
      versions.push({ router: id, epoch, parts: parts.map(({ part, counter, check }) => ({ part, counter, check })) });
    }
    return versions;
  }

  #drop(entry: Entry): RouteRecord[] {
    for (const record of entry.parts) this.#count(entry, record, -1);
    return entry.parts;
  }

  #count(entry: Entry, record: RouteRecord, sign: 1 | -1): void {
    entry.keys += sign * record.keys.length;
    entry.neighbours += sign * record.neighbours.length;
    entry.bytes += sign * costOf(record);
    this.#keys += sign * record.keys.length;
    this.#neighbours += sign * record.neighbours.length;
    this.#bytes += sign * costOf(record);
    this.#records += sign;
    const bucket = bucketOf(entry.id);
    this.#sums[bucket] = (this.#sums[bucket] ?? 0n) ^ signatureOf(record.bytes).readBigUInt64BE();
  }
}

/** Returns that part of the router, if it was received. */
export function partOf(router: KnownRouter | undefined, part: number): RouteRecord | undefined {
  if (router === undefined) return undefined;
  const record = router.parts[placeOf(router.parts, part)];
  return record?.part === part ? record : undefined;
}

/** Returns the index of the part, or its insertion point. The router chooses its part numbers, so only existing parts are stored. */
function placeOf(parts: readonly RouteRecord[], part: number): number {
  let [first, end] = [0, parts.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if ((parts[middle]?.part ?? Infinity) < part) first = middle + 1;
    else end = middle;
  }
  return first;
}

/** Returns the bucket of a router in summaries. */
export function bucketOf(router: RouterId): number {
  return Number.parseInt(router.slice(0, 2), 16) % BUCKETS;
}

interface Entry {
  readonly id: RouterId;
  readonly site: string;
  readonly epoch: number;
  readonly parts: RouteRecord[];
  about: About | undefined;
  created: number;
  bytes: number;
  keys: number;
  neighbours: number;
}

function costOf(record: RouteRecord): number {
  return record.bytes.length + RECORD_OVERHEAD;
}

function growth(replaced: RouteRecord | undefined, record: RouteRecord): number {
  return costOf(record) - (replaced === undefined ? 0 : costOf(replaced));
}

function topologyDiffers(before: RouteRecord, after: RouteRecord): boolean {
  return (
    before.about?.edge !== after.about?.edge ||
    before.neighbours.length !== after.neighbours.length ||
    before.neighbours.some((neighbour, index) => {
      const other = after.neighbours[index];
      return other?.router !== neighbour.router || other.cost !== neighbour.cost || other.confined !== neighbour.confined;
    })
  );
}
