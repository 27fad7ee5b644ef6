import type { Cache, Change } from '../../../../src/kube/contract.ts';
import { keyOf } from '../../../../src/kube/key.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';

/** A watch cache that a test fills by hand. */
export class FakeCache<T extends KubeObject> implements Cache<T> {
  readonly #objects = new Map<string, T>();
  readonly #handlers = new Set<(change: Change<T>) => void>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #relistHandlers = new Set<() => void>();
  isSynced = false;
  listedAt = '';

  constructor(objects: Iterable<T> = []) {
    for (const object of objects) this.set(object);
  }

  get size(): number {
    return this.#objects.size;
  }

  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  sync(): this {
    this.isSynced = true;
    this.#synced.resolve();
    return this;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): MapIterator<T> {
    return this.#objects.values();
  }

  by(index: string): readonly T[] {
    throw new Error(`no index ${index}`);
  }

  onChange(handler: (change: Change<T>) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  onRelist(handler: () => void): () => void {
    this.#relistHandlers.add(handler);
    return () => this.#relistHandlers.delete(handler);
  }

  /** A whole list that brings nothing new. */
  relist(resourceVersion: string): void {
    this.listedAt = resourceVersion;
    for (const handler of this.#relistHandlers) handler();
  }

  set(object: T): void {
    const previous = this.#objects.get(keyOf(object));
    this.#objects.set(keyOf(object), object);
    this.#notify(previous === undefined ? { type: 'added', object } : { type: 'modified', object, previous });
  }

  delete(key: string): void {
    const object = this.#objects.get(key);
    this.#objects.delete(key);
    if (object !== undefined) this.#notify({ type: 'deleted', object });
  }

  #notify(change: Change<T>): void {
    for (const handler of this.#handlers) handler(change);
  }
}
