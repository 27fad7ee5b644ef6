import { isDeepStrictEqual } from 'node:util';
import type { Change } from '../contract.ts';
import type { KubeObject } from '../objects.ts';

/** The part of an object that this process writes, and everything else. */
export type Split<T extends KubeObject> = (object: T) => { readonly own: unknown; readonly others: unknown };

/** Writes of one object that the watch has not brought yet. A run of them that is longer only costs a look too many. */
const MOST_EXPECTED = 16;

/**
 * Tells the watch's echo of this process' own writes from what others did. A reconcile that its own write wakes runs
 * again at once, whatever pause it was to make; where each run writes something else (the API server's refusal in other
 * words), it would never come to rest.
 *
 * Events of one object come in the order of its writes, so the echo of one write says that those before it were
 * overtaken. What is expected goes with its echo, or with the object.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #split: Split<T>;
  /** By uid, oldest first. */
  readonly #expected = new Map<string | undefined, readonly unknown[]>();
  readonly #echoes = new WeakSet<Change<T>>();

  constructor(split: Split<T>) {
    this.#split = split;
  }

  expect(intended: T): void {
    const { uid } = intended.metadata;
    this.#expected.set(uid, [...(this.#expected.get(uid) ?? []), asStored(this.#split(intended).own)].slice(-MOST_EXPECTED));
  }

  /** Costs a look too many for each write whose echo is on its way. */
  forget(uid: string | undefined): void {
    this.#expected.delete(uid);
  }

  /** To be told of each change once, before anybody asks `isEcho`. */
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

/** Without what any write changes. */
function unversioned<T extends KubeObject>(object: T): T {
  const { resourceVersion: _version, generation: _generation, managedFields: _managers, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** As it comes back: without what is undefined. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
