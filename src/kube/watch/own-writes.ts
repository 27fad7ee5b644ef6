import { isDeepStrictEqual } from 'node:util';
import type { Change } from '../contract.ts';
import type { KubeObject } from '../objects.ts';

/** Splits an object into the part that this process writes and the rest. */
export type Split<T extends KubeObject> = (object: T) => { readonly own: unknown; readonly others: unknown };

/** Maximum number of pending writes of one object. A longer run only costs one extra reconcile. */
const MOST_EXPECTED = 16;

/**
 * Distinguishes the watch's echo of this process's own writes from other changes. A reconcile triggered by its own write would
 * run again at once, ignoring its pause. If each run writes something else (such as a differently worded refusal), it would never
 * end.
 * Events of one object arrive in the order of its writes, so the echo of one write supersedes earlier ones. An expected echo is
 * removed when it arrives or the object is deleted.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #split: Split<T>;
  /** Expected states by UID, oldest first. */
  readonly #expected = new Map<string | undefined, readonly unknown[]>();
  readonly #echoes = new WeakSet<Change<T>>();

  constructor(split: Split<T>) {
    this.#split = split;
  }

  expect(intended: T): void {
    const { uid } = intended.metadata;
    this.#expected.set(uid, [...(this.#expected.get(uid) ?? []), asStored(this.#split(intended).own)].slice(-MOST_EXPECTED));
  }

  /** Drops the expected echoes. Each pending one then costs an extra reconcile. */
  forget(uid: string | undefined): void {
    this.#expected.delete(uid);
  }

  /** Must be called once for each change, before `isEcho`. */
  see(change: Change<T>): void {
    const { type, object, previous } = change;
    const { uid } = object.metadata;
    if (type === 'deleted') this.#expected.delete(uid);
    const expected = this.#expected.get(uid);
    if (expected === undefined) return;
    const { own, others } = this.#split(unversioned(object));
    const stored = asStored(own);
    const found = expected.findIndex((each) => isDeepStrictEqual(each, stored));
    if (found < 0) return;
    const left = expected.slice(found + 1);
    if (left.length === 0) this.#expected.delete(uid);
    else this.#expected.set(uid, left);
    if (previous !== undefined && isDeepStrictEqual(others, this.#split(unversioned(previous)).others)) this.#echoes.add(change);
  }

  isEcho(change: Change<T>): boolean {
    return this.#echoes.has(change);
  }
}

/** Removes the metadata that every write changes. */
function unversioned<T extends KubeObject>(object: T): T {
  const { resourceVersion: _version, generation: _generation, managedFields: _managers, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The value as the server returns it, without undefined fields. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
