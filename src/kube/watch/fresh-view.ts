import type { Cache, Change, KeyString } from '../contract.ts';
import { keyOf } from '../key.ts';
import type { KubeObject } from '../objects.ts';

/** More than can be deleted while one answer is on its way. */
const MOST_DELETED = 10_000;

/**
 * A cache that knows at once what this process wrote, before the watch brings it back. A reconcile that looked at the
 * state before its own write would write again.
 */
export class FreshView<T extends KubeObject> {
  readonly #cache: Cache<T>;
  readonly #written = new Map<KeyString, T>();
  /** Uids of objects seen deleted, latest last: the answer to a write may come after the watch told of the end. */
  readonly #deleted = new Set<string | undefined>();

  constructor(cache: Cache<T>) {
    this.#cache = cache;
    cache.onChange((change) => this.#seen(change));
  }

  get(key: KeyString): T | undefined {
    const cached = this.#cache.get(key);
    const ours = this.#written.get(key);
    return ours !== undefined && (cached === undefined || isNewer(ours, cached)) ? ours : cached;
  }

  /** Remembers the server's answer to a write until the cache has it, or something newer. */
  wrote(object: T): void {
    if (this.#deleted.has(object.metadata.uid)) return;
    const key = keyOf(object);
    const cached = this.#cache.get(key);
    if (cached === undefined || isNewer(object, cached)) this.#written.set(key, object);
  }

  #seen({ type, object }: Change<T>): void {
    const key = keyOf(object);
    if (type === 'deleted') {
      this.#deleted.add(object.metadata.uid);
      const [oldest] = this.#deleted;
      if (this.#deleted.size > MOST_DELETED) this.#deleted.delete(oldest);
    }
    const ours = this.#written.get(key);
    if (ours !== undefined && (type === 'deleted' || !isNewer(ours, object))) this.#written.delete(key);
  }
}

/**
 * Resource versions of one kind grow as decimal numbers of any length (Kubernetes KEP-5504), so a longer one is
 * later.
 */
function isNewer(a: KubeObject, b: KubeObject): boolean {
  const left = a.metadata.resourceVersion ?? '';
  const right = b.metadata.resourceVersion ?? '';
  return left.length === right.length ? left > right : left.length > right.length;
}
