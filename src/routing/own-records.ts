import type { SiteKey } from '../identity/site-key.ts';
import type { Buffer } from 'node:buffer';
import { GREATEST_COUNTER, GREATEST_EPOCH, writeAbout, writeKey, writeNeighbour, writeRecord } from './record.ts';
import type { About, KeyCount, Neighbour } from './record.ts';
import { PARTS_OF_ROUTER } from './limits.ts';

/**
 * The router's own records. Each neighbour and key stays in the part that it was first put into, so one change recreates one part,
 * however many entries there are. A part takes entries up to about a kilobyte.
 */
export class OwnRecords {
  readonly #router: string;
  readonly #key: SiteKey;
  #epoch = 0;
  readonly #parts: OwnPart[] = [];
  /** Part number of each entry. */
  readonly #partOf = new Map<string, number>();
  /** Number of the first part that may have room for the longest entry. */
  #room = 0;
  readonly #leftOut = new Map<string, number>();

  constructor(router: string, key: SiteKey) {
    this.#router = router;
    this.#key = key;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Number of entries that no part had room for. */
  get leftOut(): number {
    return [...this.#leftOut.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether any part must be recreated. */
  get changed(): boolean {
    return this.#parts.some((part) => part.changed);
  }

  /** Sets the description of the router and its site. */
  stateAbout(about: About): void {
    this.#put(0, 'about', writeAbout(about));
  }

  stateNeighbours(neighbours: readonly Neighbour[]): void {
    this.#state('link ', 0, new Map(neighbours.map((neighbour) => [`link ${neighbour.link}`, writeNeighbour(neighbour)])));
  }

  stateKeys(keys: readonly KeyCount[]): void {
    // Part 0 is recreated every ten minutes and whenever a link starts or ends, so it carries no keys.
    this.#state('key ', 1, new Map(keys.map((key) => [`key ${key.routingKey}`, writeKey(key)])));
  }

  /** Begins a new epoch: all parts are recreated. */
  begin(epoch: number): void {
    this.#epoch = Math.min(epoch, GREATEST_EPOCH);
    // An empty part is not needed in a new epoch. Only the last one can be removed: the others keep their numbers.
    while (this.#parts.length > 1 && this.#parts.at(-1)?.entries.size === 0) this.#parts.pop();
    this.#room = 0;
    for (const part of this.#parts) {
      part.counter = 0;
      part.changed = true;
    }
  }

  /** Recreates part 0 without a change, as a sign of life. */
  refresh(): void {
    const first = this.#parts[0];
    if (first !== undefined) first.changed = true;
  }

  /** Creates the records of the parts that changed, part 0 first. */
  make(): Buffer[] {
    if (this.#parts.some((part) => part.changed && part.counter >= GREATEST_COUNTER)) this.begin(this.#epoch + 1);
    const records: Buffer[] = [];
    for (const [number, part] of this.#parts.entries()) {
      if (!part.changed) continue;
      part.changed = false;
      part.counter += 1;
      records.push(
        writeRecord(
          { router: this.#router, epoch: this.#epoch, counter: part.counter, part: number },
          [...part.entries.values()],
          this.#key,
        ),
      );
    }
    return records;
  }

  /** Replaces all entries whose names begin with the group's prefix. */
  #state(group: string, first: number, desired: ReadonlyMap<string, Buffer>): void {
    for (const [entry, number] of this.#partOf) {
      if (entry.startsWith(group) && !desired.has(entry)) this.#remove(number, entry);
    }
    let leftOut = 0;
    for (const [entry, bytes] of desired) {
      const number = this.#partOf.get(entry) ?? this.#partFor(bytes, first);
      if (number === undefined) leftOut += 1;
      else this.#put(number, entry, bytes);
    }
    this.#leftOut.set(group, leftOut);
  }

  #partFor(bytes: Buffer, first: number): number | undefined {
    for (let number = Math.max(first, this.#room); number < PARTS_OF_ROUTER; number += 1) {
      const part = this.#parts[number];
      if (part === undefined || part.size + bytes.length <= PART_BYTES) return number;
      if (number === this.#room && part.size + LONGEST_ENTRY > PART_BYTES) this.#room += 1;
    }
    return undefined;
  }

  #put(number: number, entry: string, bytes: Buffer): void {
    const part = this.#parts[number] ?? { entries: new Map<string, Buffer>(), size: 0, counter: 0, changed: true };
    this.#parts[number] = part;
    const before = part.entries.get(entry);
    if (before?.equals(bytes) === true) return;
    part.entries.set(entry, bytes);
    part.size += bytes.length - (before?.length ?? 0);
    part.changed = true;
    this.#partOf.set(entry, number);
  }

  #remove(number: number, entry: string): void {
    const part = this.#parts[number];
    const before = part?.entries.get(entry);
    if (part === undefined || before === undefined) return;
    part.entries.delete(entry);
    part.size -= before.length;
    part.changed = true;
    this.#partOf.delete(entry);
    this.#room = Math.min(this.#room, number);
  }
}

interface OwnPart {
  readonly entries: Map<string, Buffer>;
  /** Size of all entries in bytes. */
  size: number;
  counter: number;
  changed: boolean;
}

/** Size of the entries in a part, in bytes: small enough for cheap changes, large enough that head and signature do not dominate. */
const PART_BYTES = 1024;
/** Size of the entry of a neighbour with the longest names, in bytes. */
const LONGEST_ENTRY = 400;
