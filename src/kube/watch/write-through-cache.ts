import type { Cache, Change, KeyString } from '../contract.ts';
import { keyOf } from '../key.ts';
import type { KubeObject } from '../objects.ts';
import { OwnWrites, type Split } from './own-writes.ts';

/** More than can be deleted while one answer is on its way. */
const MOST_DELETED = 10_000;

/**
 * A cache that knows at once what this process wrote, before the watch brings it back. A reconcile that looked at the
 * state before its own write would write again. All who read or write a kind share one view of it.
 *
 * Only `get` knows it; `values` and `by` tell what the watch has brought.
 */
export class WriteThroughCache<T extends KubeObject> implements Cache<T> {
  readonly #cache: Cache<T>;
  readonly #echoes: OwnWrites<T> | undefined;
  readonly #written = new Map<KeyString, T>();
  /** For what the cache does not tell of, because it has never held it. */
  readonly #handlers = new Set<(change: Change<T>) => void>();
  /** Uids of objects seen deleted, latest last: the answer to a write may come after the watch told of the end. */
  readonly #deleted = new Set<string | undefined>();

  /** `split`: which part of an object this process writes, where it has to tell its own writes from those of others. */
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

  /** What this process wrote and the watch has not brought yet, where nothing of that name was there before. */
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
   * Makes this of the object by `send`. What comes of it is expected before the write goes out: its event may come before its
   * answer. Of a write that failed nothing is: it may never come, and who writes the same later is somebody else.
   */
  async write(intended: T, send: () => Promise<T>): Promise<T> {
    const { uid } = intended.metadata;
    // Of what is not in the cache no end would be seen.
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

  /** Remembers the server's answer to a write until the cache has it, or something newer. */
  wrote(object: T): void {
    if (this.#deleted.has(object.metadata.uid) || this.#isGhost(object)) return;
    const key = keyOf(object);
    const cached = this.#cache.get(key);
    if (cached === undefined || isNewer(versionOf(object), versionOf(cached))) this.#written.set(key, object);
  }

  /** No change tells of an object that was made and went between two looks of the watch; the list without it does. */
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

  /** Whether a change is nothing but what this process wrote (`write`). */
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

/**
 * Resource versions of one kind grow as decimal numbers of any length (Kubernetes KEP-5504), so a longer one is
 * later.
 */
function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}
