import type { Cache, KeyString } from '../contract.ts';
import { keyOf } from '../key.ts';
import type { KubeObject } from '../objects.ts';

/**
 * A cache that knows at once what this process wrote, before the watch brings it back. A reconcile that looked at the
 * state before its own write would write again.
 */
export interface FreshView<T extends KubeObject> {
  get(key: KeyString): T | undefined;
  /** Remember the server's answer to a write until the cache has it, or something newer. */
  wrote(object: T): void;
}

/** More than can be deleted while one answer is on its way. */
const mostDeleted = 10_000;

export function freshView<T extends KubeObject>(cache: Cache<T>): FreshView<T> {
  const written = new Map<KeyString, T>();
  /** Uids of objects seen deleted, latest last: the answer to a write may come after the watch told of the end. */
  const deleted = new Set<string | undefined>();
  cache.onChange(({ type, object }) => {
    const key = keyOf(object);
    if (type === 'deleted') {
      deleted.add(object.metadata.uid);
      for (const oldest of deleted.size > mostDeleted ? deleted : []) {
        deleted.delete(oldest);
        break;
      }
    }
    const ours = written.get(key);
    if (ours !== undefined && (type === 'deleted' || !isNewer(ours, object))) written.delete(key);
  });
  return {
    get(key) {
      const cached = cache.get(key);
      const ours = written.get(key);
      return ours !== undefined && (cached === undefined || isNewer(ours, cached)) ? ours : cached;
    },
    wrote(object) {
      if (deleted.has(object.metadata.uid)) return;
      const cached = cache.get(keyOf(object));
      if (cached === undefined || isNewer(object, cached)) written.set(keyOf(object), object);
    },
  };
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
