import { Buffer } from 'node:buffer';
import type { RouterId } from './contract.ts';
import { isReservedKey } from '../../text/names.ts';
import type { Change, KnownRouter } from './database.ts';
import { eachKey, findKey } from './record.ts';

/** A router that has a key, as the first of its parts that name it says. */
export interface KeyEntry {
  readonly router: RouterId;
  readonly connectors: number;
  readonly listeners: number;
}

type Counts = Omit<KeyEntry, 'router'>;

/** By router and part: one router may name a key in thousands of its parts, and change them one by one. */
type Places = Map<RouterId, Map<number, Counts>>;

/**
 * Finds the routers of a key. Records keep their keys as bytes; an index of all keys would cost several times as much, and a
 * router asks for few. So the first question for a key reads through all records, and from then on the answer is kept right.
 */
export class KeyIndex {
  readonly #routers: ReadonlyMap<RouterId, KnownRouter>;
  /** Oldest question first. */
  readonly #asked = new Map<string, Places>();

  constructor(routers: ReadonlyMap<RouterId, KnownRouter>) {
    this.#routers = routers;
  }

  of(routingKey: string): readonly KeyEntry[] {
    if (isReservedKey(routingKey)) return [];
    const places = this.#asked.get(routingKey) ?? this.#search(routingKey);
    // Asked last, forgotten last.
    this.#asked.delete(routingKey);
    this.#asked.set(routingKey, places);
    if (this.#asked.size > MOST_ASKED) for (const oldest of this.#asked.keys().take(1)) this.#asked.delete(oldest);
    return [...places].flatMap(([router, parts]) => {
      const first = parts.get(leastOf(parts.keys()));
      return first === undefined ? [] : [{ router, ...first }];
    });
  }

  /** To be called with each change of the records. */
  apply({ before, after }: Change): void {
    if (this.#asked.size === 0) return;
    for (const record of before) {
      const { router, part } = record;
      eachKey(record, ({ routingKey }) => {
        const places = this.#asked.get(routingKey);
        const parts = places?.get(router);
        if (parts?.delete(part) === true && parts.size === 0) places?.delete(router);
      });
    }
    if (after === undefined) return;
    const { router, part } = after;
    eachKey(after, ({ routingKey, ...counts }) => {
      const parts = this.#asked.get(routingKey)?.getOrInsertComputed(router, () => new Map());
      // Of several entries in one record the first counts.
      parts?.getOrInsert(part, counts);
    });
  }

  #search(routingKey: string): Places {
    const bytes = Buffer.from(routingKey);
    const places: Places = new Map();
    for (const { id, parts } of this.#routers.values()) {
      for (const record of parts) {
        const found = findKey(record, bytes);
        if (found !== undefined) places.getOrInsertComputed(id, () => new Map()).set(record.part, found);
      }
    }
    return places;
  }
}

function leastOf(numbers: Iterable<number>): number {
  let least = Infinity;
  for (const number of numbers) least = Math.min(least, number);
  return least;
}

/** Keys whose entries are kept at most. */
const MOST_ASKED = 4096;
