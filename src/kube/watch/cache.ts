import type { Cache, Change, KeyString } from '../contract.ts';
import { keyOf } from '../key.ts';
import type { KubeObject } from '../objects.ts';

export interface CacheOptions<S extends KubeObject, T extends KubeObject> {
  readonly project: (object: S) => T | undefined;
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Called if the caller's own code (project, an index, a change handler) threw. */
  readonly onCallbackError: (error: unknown) => void;
}

interface Entry<T> {
  readonly object: T;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Values of the entry in the indexes, kept because an index function may return other ones later. */
  readonly indexed: readonly (readonly [index: string, values: readonly string[]])[];
}

/**
 * The write side of a watch cache, owned by one informer and never shared. `reader` is the read side.
 * Between `restart` and `ready`, the objects of a new list are staged while readers see the old ones. `ready` makes the new list
 * current and reports only the differences. So a relist without changes reports nothing.
 */
export class CacheWriter<S extends KubeObject, T extends KubeObject> {
  readonly reader: Cache<T>;
  readonly #options: CacheOptions<S, T>;
  readonly #entries = new Map<KeyString, Entry<T>>();
  readonly #indexes = new Map<string, Map<string, Map<KeyString, T>>>();
  readonly #handlers = new Set<(change: Change<T>) => void>();
  readonly #relistHandlers = new Set<() => void>();
  readonly #synced = Promise.withResolvers<void>();
  #staged: Map<KeyString, Entry<T>> | undefined;
  #isSynced = false;
  #listedAt = '';

  constructor(options: CacheOptions<S, T>) {
    this.#options = options;
    for (const name of Object.keys(options.indexes ?? {})) this.#indexes.set(name, new Map());
    // A rejection without a listener must not be unhandled.
    this.#synced.promise.catch(() => undefined);
    this.reader = this.#makeReader();
  }

  restart(): void {
    this.#staged = new Map();
  }

  put(object: S): void {
    const key = keyOf(object);
    const before = this.#staged?.get(key) ?? this.#entries.get(key);
    // This version was seen already, so it is not projected again.
    const same = before !== undefined && before.uid === object.metadata.uid && before.resourceVersion === object.metadata.resourceVersion;
    const entry = same ? before : this.#entryOf(object);
    if (this.#staged === undefined) {
      if (!same) this.#set(key, entry);
    } else if (entry === undefined) this.#staged.delete(key);
    else this.#staged.set(key, entry);
  }

  remove(object: S): void {
    const key = keyOf(object);
    if (this.#staged !== undefined) this.#staged.delete(key);
    else this.#set(key, undefined, this.#project(object));
  }

  ready(resourceVersion: string): void {
    const staged = this.#staged;
    if (staged === undefined) return;
    this.#staged = undefined;
    this.#listedAt = resourceVersion;
    for (const key of this.#entries.keys()) {
      if (!staged.has(key)) this.#set(key, undefined);
    }
    for (const [key, entry] of staged) this.#set(key, entry);
    this.#isSynced = true;
    this.#synced.resolve();
    for (const handler of this.#relistHandlers) this.#call(handler);
  }

  /** Ends the cache: no more changes will follow. */
  stop(reason: unknown): void {
    this.#synced.reject(reason);
  }

  #set(key: KeyString, after: Entry<T> | undefined, lastState?: T): void {
    const before = this.#entries.get(key);
    if (before === after) return;
    if (after === undefined) this.#entries.delete(key);
    else this.#entries.set(key, after);
    this.#reindex(key, before, after);
    if (before === undefined) {
      if (after !== undefined) this.#notify({ type: 'added', object: after.object });
    } else if (after === undefined) {
      this.#notify({ type: 'deleted', object: lastState ?? before.object });
    } else if (before.uid === after.uid) {
      this.#notify({ type: 'modified', object: after.object, previous: before.object });
    } else {
      // Deleted and recreated while the watch was interrupted: a different object of the same name.
      this.#notify({ type: 'deleted', object: before.object });
      this.#notify({ type: 'added', object: after.object });
    }
  }

  #entryOf(object: S): Entry<T> | undefined {
    const projected = this.#project(object);
    if (projected === undefined) return undefined;
    const { uid, resourceVersion } = object.metadata;
    try {
      const all = Object.entries(this.#options.indexes ?? {}).map(([name, of]) => [name, of(projected)] as const);
      // `slice` frees the extra capacity that `filter` reserves, because this is kept for each object.
      const indexed = all.filter(([, values]) => values.length > 0).slice();
      return { object: projected, uid, resourceVersion, indexed };
    } catch (error) {
      this.#options.onCallbackError(error);
      return { object: projected, uid, resourceVersion, indexed: [] };
    }
  }

  #project(object: S): T | undefined {
    try {
      return this.#options.project(object);
    } catch (error) {
      // An object that fails in the projection must not affect others.
      this.#options.onCallbackError(error);
      return undefined;
    }
  }

  #reindex(key: KeyString, before: Entry<T> | undefined, after: Entry<T> | undefined): void {
    for (const [name, values] of before?.indexed ?? []) {
      const index = this.#indexes.get(name);
      for (const value of values) {
        const bucket = index?.get(value);
        bucket?.delete(key);
        if (bucket?.size === 0) index?.delete(value);
      }
    }
    if (after === undefined) return;
    for (const [name, values] of after.indexed) {
      const index = this.#indexes.get(name);
      for (const value of values) {
        const bucket = index?.get(value);
        if (bucket === undefined) index?.set(value, new Map([[key, after.object]]));
        else bucket.set(key, after.object);
      }
    }
  }

  #notify(change: Change<T>): void {
    for (const handler of this.#handlers) this.#call(() => handler(change));
  }

  #call(handler: () => void): void {
    try {
      handler();
    } catch (error) {
      this.#options.onCallbackError(error);
    }
  }

  #makeReader(): Cache<T> {
    const entries = this.#entries;
    const indexes = this.#indexes;
    const handlers = this.#handlers;
    const relistHandlers = this.#relistHandlers;
    const isSynced = (): boolean => this.#isSynced;
    const listedAt = (): string => this.#listedAt;
    return {
      synced: this.#synced.promise,
      get size() {
        return entries.size;
      },
      get isSynced() {
        return isSynced();
      },
      get listedAt() {
        return listedAt();
      },
      get: (key) => entries.get(key)?.object,
      *values() {
        for (const entry of entries.values()) yield entry.object;
      },
      by: (name, value) => {
        const index = indexes.get(name);
        if (index === undefined) throw new RangeError(`This cache has no index "${name}".`);
        return [...(index.get(value)?.values() ?? [])];
      },
      onChange: (handler) => {
        handlers.add(handler);
        return () => void handlers.delete(handler);
      },
      onRelist: (handler) => {
        relistHandlers.add(handler);
        return () => void relistHandlers.delete(handler);
      },
    };
  }
}
