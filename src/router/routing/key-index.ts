import { Buffer } from 'node:buffer';
import type { RouterId } from './contract.ts';
import type { Change, KnownRouter } from './database.ts';
import { eachKey, findKey } from './record.ts';

/** Where a key is. */
export interface KeyPlace {
  readonly router: RouterId;
  readonly part: number;
  readonly connectors: number;
  readonly listeners: number;
}

/**
 * Finds the routers of a key. Records keep their keys as bytes; an index of all keys would cost several times as much, and a
 * router asks for few. So the first question for a key reads through all records, and from then on the answer is kept right.
 */
export class KeyPlaces {
  readonly #routers: ReadonlyMap<RouterId, KnownRouter>;
  /** Oldest question first. */
  readonly #asked = new Map<string, KeyPlace[]>();

  constructor(routers: ReadonlyMap<RouterId, KnownRouter>) {
    this.#routers = routers;
  }

  /** One place a router, the one in its first part. */
  of(routingKey: string): readonly KeyPlace[] {
    const places = this.#asked.get(routingKey) ?? this.#search(routingKey);
    // Asked last, forgotten last.
    this.#asked.delete(routingKey);
    this.#asked.set(routingKey, places);
    if (this.#asked.size > mostAsked) {
      for (const oldest of this.#asked.keys()) {
        this.#asked.delete(oldest);
        break;
      }
    }
    const first = new Map<RouterId, KeyPlace>();
    for (const place of places) if (place.part < (first.get(place.router)?.part ?? Infinity)) first.set(place.router, place);
    return [...first.values()];
  }

  /** To be told of each change of the records. */
  apply({ before, after }: Change): void {
    if (this.#asked.size === 0) return;
    for (const record of before) {
      eachKey(record, ({ routingKey }) => {
        const places = this.#asked.get(routingKey);
        if (places === undefined) return;
        this.#asked.set(
          routingKey,
          places.filter((place) => place.router !== record.router || place.part !== record.part),
        );
      });
    }
    if (after === undefined) return;
    eachKey(after, ({ routingKey, connectors, listeners }) => {
      const places = this.#asked.get(routingKey);
      if (places === undefined || places.some((place) => place.router === after.router && place.part === after.part)) return;
      places.push({ router: after.router, part: after.part, connectors, listeners });
    });
  }

  #search(routingKey: string): KeyPlace[] {
    const bytes = Buffer.from(routingKey);
    const places: KeyPlace[] = [];
    for (const { id, parts } of this.#routers.values()) {
      for (const record of parts) {
        if (record === undefined) continue;
        const found = findKey(record, bytes);
        if (found !== undefined) places.push({ router: id, part: record.part, ...found });
      }
    }
    return places;
  }
}

/** Keys whose places are kept at most. */
const mostAsked = 4096;
