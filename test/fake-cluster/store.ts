import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../src/kube/objects.ts';
import { keyOf } from '../../src/kube/key.ts';
import type { Random } from '../simulate/random.ts';

export interface StoreEvent {
  readonly plural: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
}

/** Objects of one kind, and what became of them in order. */
export interface Kind {
  readonly objects: Map<string, KubeObject>;
  readonly events: StoreEvent[];
  version: number;
  /** A watch cannot go on from before it. */
  compacted: number;
}

/**
 * What etcd holds. Versions of different kinds say nothing about each other: each kind has numbers of its own, which begin so that soon
 * one is a digit longer.
 */
export class Store {
  readonly #kinds = new Map<string, Kind>();
  readonly #random: Random;
  readonly #told = new Set<(event: StoreEvent) => void>();
  /** By uid of an owner: those that it owns. */
  readonly #owned = new Map<string, Map<string, { plural: string; key: string }>>();
  readonly uids = new Set<string>();
  #uids = 0;
  /** Writes that changed something. */
  writes = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  kind(plural: string): Kind {
    const known = this.#kinds.get(plural);
    if (known !== undefined) return known;
    const version = this.#random.pick([90, 93, 97, 980]);
    const created: Kind = { objects: new Map(), events: [], version, compacted: version };
    this.#kinds.set(plural, created);
    return created;
  }

  /** Called synchronously, in order. */
  onChange(handler: (event: StoreEvent) => void): void {
    this.#told.add(handler);
  }

  get<T extends KubeObject>(plural: string, key: string): T | undefined {
    return this.kind(plural).objects.get(key) as T | undefined; // Kept by kind.
  }

  all<T extends KubeObject>(plural: string): readonly T[] {
    return [...this.kind(plural).objects.values()] as unknown as readonly T[]; // Kept by kind.
  }

  newUid(): string {
    this.#uids += 1;
    return `${this.#random.next().toString(16).padStart(8, '0')}-0000-4000-8000-${this.#uids.toString(16).padStart(12, '0')}`;
  }

  /** An update without a difference is not a write. */
  put<T extends KubeObject>(plural: string, object: T): T {
    const kind = this.kind(plural);
    const key = keyOf(object);
    const previous = kind.objects.get(key);
    if (previous !== undefined && sameBut(previous, object)) return previous as T; // Of this kind.
    kind.version += 1;
    const stored: T = { ...object, metadata: { ...object.metadata, resourceVersion: String(kind.version) } };
    kind.objects.set(key, stored);
    this.#ownership(plural, key, previous, stored);
    this.#notify(kind, { plural, type: previous === undefined ? 'ADDED' : 'MODIFIED', version: kind.version, object: stored, previous });
    return stored;
  }

  remove(plural: string, key: string): void {
    const kind = this.kind(plural);
    const previous = kind.objects.get(key);
    if (previous === undefined) return;
    kind.version += 1;
    kind.objects.delete(key);
    this.#ownership(plural, key, previous, undefined);
    const object = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(kind.version) } };
    this.#notify(kind, { plural, type: 'DELETED', version: kind.version, object, previous });
  }

  ownedBy(uid: string): readonly { plural: string; key: string }[] {
    return [...(this.#owned.get(uid)?.values() ?? [])];
  }

  /** Watches can go on only from now. */
  compact(plural: string): void {
    const kind = this.kind(plural);
    kind.events.length = 0;
    kind.compacted = kind.version;
  }

  #notify(kind: Kind, event: StoreEvent): void {
    this.writes += 1;
    kind.events.push(event);
    if (kind.events.length > MOST_EVENTS) {
      const dropped = kind.events.splice(0, MOST_EVENTS / 2);
      kind.compacted = dropped.at(-1)?.version ?? kind.compacted;
    }
    for (const handler of this.#told) handler(event);
  }

  #ownership(plural: string, key: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    if (before?.metadata.uid !== undefined) this.uids.delete(before.metadata.uid);
    if (after?.metadata.uid !== undefined) this.uids.add(after.metadata.uid);
    const id = `${plural} ${key}`;
    for (const { uid } of before?.metadata.ownerReferences ?? []) this.#owned.get(uid)?.delete(id);
    for (const { uid } of after?.metadata.ownerReferences ?? []) {
      const owned = this.#owned.get(uid) ?? new Map<string, { plural: string; key: string }>();
      this.#owned.set(uid, owned.set(id, { plural, key }));
    }
  }
}

const MOST_EVENTS = 20_000;

function sameBut(before: KubeObject, after: KubeObject): boolean {
  const { resourceVersion } = before.metadata;
  return isDeepStrictEqual(before, { ...after, metadata: { ...after.metadata, resourceVersion } });
}
