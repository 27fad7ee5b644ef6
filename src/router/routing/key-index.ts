import { Buffer } from 'node:buffer';
import type { RouterId } from './contract.ts';
import { isReservedKey } from '../../text/names.ts';
import type { Change, KnownRouter } from './database.ts';
import { eachKey, findKey } from './record.ts';

/** A router that has a key, and the part of its records that says so. */
export interface KeyEntry {
  readonly router: RouterId;
  readonly part: number;
  readonly connectors: number;
  readonly listeners: number;
}

/**
 * Finds the routers of a key. Records keep their keys as bytes; an index of all keys would cost several times as much, and a
 * router asks for few. So the first question for a key reads through all records, and from then on the answer is kept right.
 */
export class KeyIndex {
  readonly #routers: ReadonlyMap<RouterId, KnownRouter>;
  /** Oldest question first. */
  readonly #asked = new Map<string, KeyEntry[]>();

  constructor(routers: ReadonlyMap<RouterId, KnownRouter>) {
    this.#routers = routers;
  }

  /** One entry a router, that of its first part. */
  of(routingKey: string): readonly KeyEntry[] {
    if (isReservedKey(routingKey)) return [];
    const entries = this.#asked.get(routingKey) ?? this.#search(routingKey);
    // Asked last, forgotten last.
    this.#asked.delete(routingKey);
    this.#asked.set(routingKey, entries);
    if (this.#asked.size > MOST_ASKED) for (const oldest of this.#asked.keys().take(1)) this.#asked.delete(oldest);
    const first = new Map<RouterId, KeyEntry>();
    for (const entry of entries) if (entry.part < (first.get(entry.router)?.part ?? Infinity)) first.set(entry.router, entry);
    return [...first.values()];
  }

  /** To be called with each change of the records. */
  apply({ before, after }: Change): void {
    if (this.#asked.size === 0) return;
    for (const record of before) {
      eachKey(record, ({ routingKey }) => {
        const entries = this.#asked.get(routingKey);
        if (entries === undefined) return;
        this.#asked.set(
          routingKey,
          entries.filter((entry) => entry.router !== record.router || entry.part !== record.part),
        );
      });
    }
    if (after === undefined) return;
    eachKey(after, ({ routingKey, connectors, listeners }) => {
      const entries = this.#asked.get(routingKey);
      if (entries === undefined || entries.some((entry) => entry.router === after.router && entry.part === after.part)) return;
      entries.push({ router: after.router, part: after.part, connectors, listeners });
    });
  }

  #search(routingKey: string): KeyEntry[] {
    const bytes = Buffer.from(routingKey);
    const entries: KeyEntry[] = [];
    for (const { id, parts } of this.#routers.values()) {
      for (const record of parts) {
        if (record === undefined) continue;
        const found = findKey(record, bytes);
        if (found !== undefined) entries.push({ router: id, part: record.part, ...found });
      }
    }
    return entries;
  }
}

/** Keys whose entries are kept at most. */
const MOST_ASKED = 4096;
