import { Buffer } from 'node:buffer';
import { randomInt } from 'node:crypto';
import type { RouterId } from './contract.ts';
import { isReservedKey } from '../text/names.ts';
import type { Change } from './database.ts';
import { eachKey, eachKeyBytes, findKey, type KeyCount, type RouteRecord } from './record.ts';

type Counts = Omit<KeyCount, 'routingKey'>;

/** A router that has a key, with the counts of the first of its parts that names the key. */
export interface KeyEntry extends Counts {
  readonly router: RouterId;
}

/** Counts by router and part: one router may name a key in thousands of its parts, and change them one by one. */
type Places = Map<RouterId, Map<number, Counts>>;

/**
 * Finds the routers of a key. It indexes hashes, since an index of the keys would cost several times as much memory and few are queried.
 * The first query for a key reads the records with its hash; later changes update the cached answer. There may be tens of thousands of
 * records, and linked peers may query any key.
 */
export class KeyIndex {
  /** Records by the hash of a key that they name. Most keys are in one record. */
  readonly #records = new Map<number, RouteRecord | Set<RouteRecord>>();
  /** Secret, so that peers cannot choose keys with equal hashes. */
  readonly #hash = hasher();
  /** Cached answers, the least recently used first. */
  readonly #asked = new Map<string, Places>();

  of(routingKey: string): readonly KeyEntry[] {
    if (isReservedKey(routingKey)) return [];
    const places = this.#asked.get(routingKey) ?? this.#search(routingKey);
    // Move the key to the most recently used end.
    this.#asked.delete(routingKey);
    this.#asked.set(routingKey, places);
    if (this.#asked.size > MOST_ASKED) for (const oldest of this.#asked.keys().take(1)) this.#asked.delete(oldest);
    return [...places].flatMap(([router, parts]) => {
      const first = parts.get(leastOf(parts.keys()));
      return first === undefined ? [] : [{ router, ...first }];
    });
  }

  /** Must be called after each change of the records. */
  apply({ before, after }: Change): void {
    for (const record of before) {
      eachKeyBytes(record, (bytes, start, end) => this.#leave(this.#hash(bytes, start, end), record));
      this.#forget(record);
    }
    if (after === undefined) return;
    eachKeyBytes(after, (bytes, start, end) => this.#enter(this.#hash(bytes, start, end), after));
    this.#learn(after);
  }

  #forget(record: RouteRecord): void {
    if (this.#asked.size === 0) return;
    const { router, part } = record;
    eachKey(record, ({ routingKey }) => {
      const places = this.#asked.get(routingKey);
      const parts = places?.get(router);
      if (parts?.delete(part) === true && parts.size === 0) places?.delete(router);
    });
  }

  #learn(record: RouteRecord): void {
    if (this.#asked.size === 0) return;
    const { router, part } = record;
    eachKey(record, ({ routingKey, ...counts }) => {
      const parts = this.#asked.get(routingKey)?.getOrInsertComputed(router, () => new Map());
      // If one record has several entries of a key, the first one counts.
      parts?.getOrInsert(part, counts);
    });
  }

  #enter(hash: number, record: RouteRecord): void {
    const known = this.#records.get(hash);
    if (known === undefined) this.#records.set(hash, record);
    else if (known instanceof Set) known.add(record);
    else if (known !== record) this.#records.set(hash, new Set([known, record]));
  }

  #leave(hash: number, record: RouteRecord): void {
    const known = this.#records.get(hash);
    if (known instanceof Set) known.delete(record);
    if (known === record || (known instanceof Set && known.size === 0)) this.#records.delete(hash);
  }

  #search(routingKey: string): Places {
    const bytes = Buffer.from(routingKey);
    const places: Places = new Map();
    const known = this.#records.get(this.#hash(bytes, 0, bytes.length));
    for (const record of known instanceof Set ? known : known === undefined ? [] : [known]) {
      const found = findKey(record, bytes);
      if (found !== undefined) places.getOrInsertComputed(record.router, () => new Map()).set(record.part, found);
    }
    return places;
  }
}

/** FNV-1a with random parameters. */
function hasher(): (bytes: Buffer, start: number, end: number) => number {
  const [first, factor] = [randomInt(2 ** 32), randomInt(2 ** 31) * 2 + 1];
  return (bytes, start, end) => {
    let hash = first;
    for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), factor);
    return hash;
  };
}

function leastOf(numbers: Iterable<number>): number {
  let least = Infinity;
  for (const number of numbers) least = Math.min(least, number);
  return least;
}

/** Maximum number of keys with cached entries. */
const MOST_ASKED = 4096;
