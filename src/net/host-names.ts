import { lookup as askSystem, type LookupAddress, type LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { bounded, guard } from '../telemetry/boundary.ts';
import { limitTable } from '../limits/table.ts';

export type Resolved = (addresses: readonly LookupAddress[], error?: string) => void;

type Lookup = (
  host: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Milliseconds without an answer after which an earlier answer is used (RFC 8767 section 5). */
export const PATIENCE = 1_800;
/** Milliseconds until a resolver that did not answer is asked again. */
export const AGAIN = 5_000;
/** Maximum age in milliseconds of an answer used in place of a new one (RFC 8767 section 4). */
export const MOST_AGE = 86_400_000;
/** Maximum number of addresses of one name. More addresses do not belong to one server. */
const MOST_ADDRESSES = 16;
/** Maximum number of names. Beyond it, names that neither the configuration nor a linked site's endpoints use any more are evicted. */
const MOST_NAMES = limitTable.hostNames.value;
/** Maximum number of concurrent lookups of slow names. libuv runs two lookups at once, and one slot is for other names. */
const MOST_SLOW = 1;
/** Errors that mean the name does not exist. Other failures say nothing about it. */
const GONE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

interface Name {
  readonly host: string;
  readonly waiting: Set<Resolved>;
  /** Whether it is being looked up, or waits in the queue. */
  isAsked: boolean;
  isSlow: boolean;
  /** Whether its last answer is used in place of a missing one. */
  isStale: boolean;
  last: { readonly addresses: readonly LookupAddress[]; readonly at: number; readonly since: number } | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Resolves host names. Concurrent requests for a name share one lookup. If the resolver does not answer, the last known addresses are
 * used, and it is asked again until it answers.
 *
 * Invariants: `#names` is in LRU order, the most recent last. Each name has at most one lookup. At most `MOST_SLOW` slow names are looked
 * up; the others wait in `#queue`.
 */
export class HostNames {
  readonly #lookup: Lookup;
  readonly #names = new Map<string, Name>();
  readonly #running = new Set<Name>();
  readonly #queue = new Set<Name>();
  readonly #subscribers = new Set<(host: string, since: number | undefined) => void>();

  constructor(lookup: Lookup = (host, options, done) => askSystem(host, options, done)) {
    this.#lookup = lookup;
  }

  /** Times of the stale answers in use, by host, in milliseconds since 1970. */
  get stale(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#names.values()].flatMap(({ host, isStale, last }) => (isStale && last ? [[host, last.at]] : [])));
  }

  /** Notifies when a stale answer known at `since` comes into use for a name, and when that ends. @returns a function to unsubscribe */
  onChange(subscriber: (host: string, since: number | undefined) => void): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** Calls `done` once, never within the call. @returns a function to cancel; `done` is not called afterwards */
  resolve(host: string, done: Resolved): () => void {
    const name = this.#name(host);
    const { last } = name;
    if (name.isStale && last !== undefined) {
      const soon = setImmediate(
        bounded(
          'connection/name-known',
          () => done(last.addresses),
          () => done([], UNEXPECTED),
        ),
      );
      return () => clearImmediate(soon);
    }
    name.waiting.add(done);
    this.#ask(name);
    return () => name.waiting.delete(done);
  }

  #name(host: string): Name {
    const known = this.#names.get(host);
    if (known === undefined && this.#names.size >= MOST_NAMES) this.#evictOne();
    const name = known ?? { host, waiting: new Set(), isAsked: false, isSlow: false, isStale: false, last: undefined, timer: undefined };
    // Move it to the most recent end.
    this.#names.delete(host);
    this.#names.set(host, name);
    return name;
  }

  /** Evicts the least recently used name that no caller waits for. Names with stale answers in use are evicted last. */
  #evictOne(): void {
    const free = [...this.#names.values()].filter(({ isAsked, waiting }) => !isAsked && waiting.size === 0);
    const oldest = free.find(({ isStale }) => !isStale) ?? free[0];
    if (oldest === undefined) return;
    clearTimeout(oldest.timer);
    this.#setStale(oldest, false);
    this.#names.delete(oldest.host);
  }

  #ask(name: Name): void {
    if (name.isAsked) return;
    name.isAsked = true;
    clearTimeout(name.timer);
    name.timer = setTimeout(
      bounded('look/name-late', () => this.#late(name)),
      PATIENCE,
    ).unref();
    this.#queue.add(name);
    this.#next();
  }

  #next(): void {
    let slow = [...this.#running].filter(({ isSlow }) => isSlow).length;
    for (const name of this.#queue) {
      if (name.isSlow && slow >= MOST_SLOW) continue;
      if (name.isSlow) slow += 1;
      this.#queue.delete(name);
      this.#run(name);
    }
  }

  #run(name: Name): void {
    this.#running.add(name);
    const onAnswer = (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]): void => {
      if (error === null) this.#answered(name, found.slice(0, MOST_ADDRESSES), found.length === 0 ? 'ENOTFOUND' : undefined);
      else this.#answered(name, [], error.code ?? UNEXPECTED);
    };
    this.#lookup(
      name.host,
      { all: true, order: 'verbatim' },
      bounded('look/names', onAnswer, () => this.#answered(name, [], UNEXPECTED)),
    );
  }

  #late(name: Name): void {
    name.isSlow = true;
    this.#useLast(name);
    if (name.isStale) this.#notify(name, undefined);
  }

  #answered(name: Name, addresses: readonly LookupAddress[], error: string | undefined): void {
    clearTimeout(name.timer);
    this.#running.delete(name);
    name.isAsked = false;
    if (error === undefined || GONE.has(error)) {
      name.isSlow = false;
      name.last = error === undefined ? { addresses, at: Date.now(), since: performance.now() } : undefined;
      this.#setStale(name, false);
    } else {
      this.#useLast(name);
      if (name.isStale) this.#askLater(name);
    }
    this.#notify(name, error);
    this.#next();
  }

  #useLast(name: Name): void {
    if (name.last !== undefined && performance.now() - name.last.since > MOST_AGE) name.last = undefined;
    this.#setStale(name, name.last !== undefined);
  }

  #askLater(name: Name): void {
    const ask = bounded(
      'look/name-again',
      () => this.#ask(name),
      () => this.#askLater(name),
    );
    name.timer = setTimeout(ask, AGAIN).unref();
  }

  #setStale(name: Name, isStale: boolean): void {
    if (name.isStale === isStale) return;
    name.isStale = isStale;
    const since = isStale ? name.last?.at : undefined;
    for (const subscriber of this.#subscribers) guard('look/name-subscriber', subscriber, () => subscriber(name.host, since));
  }

  #notify(name: Name, error: string | undefined): void {
    const waiting = [...name.waiting];
    name.waiting.clear();
    const addresses = name.last?.addresses ?? [];
    for (const each of waiting)
      guard(
        'connection/name',
        each,
        () => each(addresses, addresses.length > 0 ? undefined : error),
        () => each([], UNEXPECTED),
      );
  }
}

const UNEXPECTED = 'unexpected error';

/** Shared by this process, as are the libuv threads that resolve names. */
export const hostNames = new HostNames();

/** Lookup function for sockets that resolve names themselves. */
export const lookupKnown: LookupFunction = (host, { all }, callback) => {
  hostNames.resolve(host, (addresses, error) => {
    const [first] = addresses;
    if (first === undefined) {
      const code = error ?? 'ENOTFOUND';
      callback(Object.assign(new Error(`getaddrinfo ${code} ${host}`), { code }), []);
    } else if (all === true) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  });
};
