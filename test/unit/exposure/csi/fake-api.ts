import type { KubeClient } from '../../../../src/kube/contract.ts';
import { ApiError } from '../../../../src/kube/errors.ts';
import { keyOf, keyString } from '../../../../src/kube/key.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import type { Resource } from '../../../../src/kube/resource.ts';

/** An API server that keeps objects of any kind, and passes each write to the simulated watch. */
export class FakeApi implements Pick<KubeClient, 'create' | 'find' | 'patch'> {
  readonly #objects = new Map<string, KubeObject>();
  readonly #kinds = new Map<string, (object: KubeObject) => void>();
  #version = 0;
  /** Calls so far: verb and key. */
  readonly calls: string[] = [];
  /** Thrown by the next calls, one each. */
  readonly failures: Error[] = [];

  /** `onWrite` is called with each object of a kind that is written, before the writer has its answer. */
  watch<T extends KubeObject>(of: Resource<T>, onWrite: (object: T) => void): void {
    this.#kinds.set(of.plural, onWrite as (object: KubeObject) => void); // Objects are kept by kind, so it gets its own.
  }

  put<T extends KubeObject>(of: Resource<T>, object: T): T {
    this.#version += 1;
    const stored: T = { ...object, metadata: { ...object.metadata, resourceVersion: `${this.#version}` } };
    this.#objects.set(`${of.plural} ${keyOf(object)}`, stored);
    this.#kinds.get(of.plural)?.(stored);
    return stored;
  }

  /** Deletes as another client would; the simulated watch receives it. */
  remove(of: Resource, key: string): void {
    this.#objects.delete(`${of.plural} ${key}`);
  }

  async find<T extends KubeObject>(of: Resource<T>, key: { namespace?: string; name: string }): Promise<T | undefined> {
    this.#call(`find ${of.plural} ${keyString(key)}`);
    return this.#objects.get(`${of.plural} ${keyString(key)}`) as T | undefined; // Kept by kind.
  }

  async create<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    this.#call(`create ${of.plural} ${keyOf(object)}`);
    if (this.#objects.has(`${of.plural} ${keyOf(object)}`)) throw refused(409, 'AlreadyExists');
    return this.put(of, object);
  }

  async patch<T extends KubeObject>(of: Resource<T>, key: { namespace?: string; name: string }, patch: unknown): Promise<T> {
    this.#call(`patch ${of.plural} ${keyString(key)}`);
    const known = this.#objects.get(`${of.plural} ${keyString(key)}`);
    if (known === undefined) throw refused(404, 'NotFound');
    return this.put(of, merge(known, patch) as T); // A merge patch of an object of this kind.
  }

  #call(call: string): void {
    this.calls.push(call);
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
  }
}

export function refused(status: number, reason: string, message = reason): ApiError {
  return new ApiError('test', { status, reason, message });
}

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}
