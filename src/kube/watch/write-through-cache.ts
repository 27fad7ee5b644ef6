import type { Cache, Change, KeyString } from '../contract.ts';
import { keyOf } from '../key.ts';
import type { KubeObject } from '../objects.ts';
import { OwnWrites, type Split } from './own-writes.ts';

/** More than the number of objects deleted while one response is in transit. */
const MOST_DELETED = 10_000;

/**
 * A cache that contains this process's own writes at once, before the watch delivers them. A reconcile that sees the state before
 * its own write would write again. All readers and writers of a kind share one instance. Only `get` includes own writes; `values`
 * and `by` contain only what the watch delivered.
 */
export class WriteThroughCache<T extends KubeObject> implements Cache<T> {
  readonly #cache: Cache<T>;
  readonly #echoes: OwnWrites<T> | undefined;
  readonly #written = new Map<KeyString, T>();
  /** Handlers for deletions that the cache does not report because it never held the object. */
  readonly #handlers = new Set<(change: Change<T>) => void>();
  /** UIDs of deleted objects, latest last: a response may arrive after the watch reported the deletion. */
  readonly #deleted = new Set<string | undefined>();

  /** `split`: the part of an object that this process writes; set if own writes must be distinguished from others. */
  constructor(cache: Cache<T>, split?: Split<T>) {
    this.#cache = cache;
    this.#echoes = split === undefined ? undefined : new OwnWrites(split);
    cache.onChange((change) => this.#seen(change));
    cache.onRelist(() => this.#dropGhosts());
  }

  get size(): number {
    return this.#cache.size;
  }

  get synced(): Promise<void> {
    return this.#cache.synced;
  }

  get isSynced(): boolean {
    return this.#cache.isSynced;
  }

  get(key: KeyString): T | undefined {
    const cached = this.#cache.get(key);
    const ours = this.#written.get(key);
    return ours !== undefined && (cached === undefined || isNewer(versionOf(ours), versionOf(cached))) ? ours : cached;
  }

  values(): IterableIterator<T> {
    return this.#cache.values();
  }

  by(index: string, value: string): readonly T[] {
    return this.#cache.by(index, value);
  }

  /** Own writes that the watch has not delivered yet and that the cache has no object for. */
  pending(): readonly T[] {
    return [...this.#written].filter(([key]) => this.#cache.get(key) === undefined).map(([, object]) => object);
  }

  get listedAt(): string {
    return this.#cache.listedAt;
  }

  onRelist(handler: () => void): () => void {
    return this.#cache.onRelist(handler);
  }

  onChange(handler: (change: Change<T>) => void): () => void {
    const stop = this.#cache.onChange(handler);
    this.#handlers.add(handler);
    return () => {
      stop();
      this.#handlers.delete(handler);
    };
  }

  /**
   * Writes the object with `send`. Its echo is expected before the write is sent, because the event may arrive before the
   * response. After a failed write nothing is expected: the event may never come, and a later equal write may be another
   * writer's.
   */
  async write(intended: T, send: () => Promise<T>): Promise<T> {
    const { uid } = intended.metadata;
    // The deletion of an object that is not cached would not be noticed.
    if (this.#cache.get(keyOf(intended))?.metadata.uid === uid) this.#echoes?.expect(intended);
    try {
      const written = await send();
      this.wrote(written);
      return written;
    } catch (error) {
      this.#echoes?.forget(uid);
      throw error;
    }
  }

  /** Keeps the response of a write until the cache has it or a newer version. */
  wrote(object: T): void {
    if (this.#deleted.has(object.metadata.uid) || this.#isGhost(object)) return;
    const key = keyOf(object);
    const cached = this.#cache.get(key);
    if (cached === undefined || isNewer(versionOf(object), versionOf(cached))) this.#written.set(key, object);
  }

  /**
   * Whether the object was created and deleted while the watch was interrupted: no change reports it, but the list does not
   * contain it.
   */
  #isGhost(object: T): boolean {
    const cached = this.#cache.get(keyOf(object));
    return cached === undefined && !isNewer(versionOf(object), this.#cache.listedAt);
  }

  #dropGhosts(): void {
    for (const [key, object] of this.#written) {
      if (!this.#isGhost(object)) continue;
      this.#written.delete(key);
      for (const handler of this.#handlers) handler({ type: 'deleted', object });
    }
  }

  /** Whether a change is only the echo of an own write (`write`). */
  isEcho(change: Change<T>): boolean {
    return this.#echoes?.isEcho(change) === true;
  }

  #seen(change: Change<T>): void {
    const { type, object } = change;
    this.#echoes?.see(change);
    const key = keyOf(object);
    if (type === 'deleted') {
      this.#deleted.add(object.metadata.uid);
      const [oldest] = this.#deleted;
      if (this.#deleted.size > MOST_DELETED) this.#deleted.delete(oldest);
    }
    const ours = this.#written.get(key);
    if (ours !== undefined && (type === 'deleted' || !isNewer(versionOf(ours), versionOf(object)))) this.#written.delete(key);
  }
}

/** Resource versions of one kind are increasing decimal numbers of any length (Kubernetes KEP-5504), so a longer one is newer. */
function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}
