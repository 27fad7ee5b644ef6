import type { Cache, KubeClient } from '../../../kube/contract.ts';
import { ApiError } from '../../../kube/errors.ts';
import type { KubeObject } from '../../../kube/objects.ts';
import type { Resource } from '../../../kube/resource.ts';
import { startInformer } from '../../../kube/watch/informer.ts';
import { bounded } from '../../../telemetry/boundary.ts';
import { pause } from '../../../work/pause.ts';
import type { StoredObject } from './objects.ts';

/**
 * Reads objects of a namespace. After `follow`, objects that were read once are watched: reading them again is free, and `changed` resolves
 * when it is worthwhile. A change between a read and the following wait is not lost.
 */
export class ClusterReader {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #caches = new Map<string, Promise<Cache<StoredObject>>>();
  #end: AbortController | undefined;
  /** Whether a watched object has changed since the last wait. */
  #hasChanged = false;
  #notify: (() => void) | undefined;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  follow(): Disposable {
    const end = new AbortController();
    this.#end = end;
    return {
      [Symbol.dispose]: () => {
        end.abort();
        this.#end = undefined;
        this.#caches.clear();
      },
    };
  }

  /** Sorted by name. */
  async list(of: Resource): Promise<readonly StoredObject[]> {
    const found = this.#end === undefined ? await this.#listed(of) : [...(await this.#watched(of, undefined, this.#end.signal)).values()];
    return found.toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
  }

  async find(of: Resource, name: string): Promise<StoredObject | undefined> {
    const key = { namespace: this.#namespace, name };
    if (this.#end !== undefined) return (await this.#watched(of, name, this.#end.signal)).get(`${this.#namespace}/${name}`);
    const found = await this.#client.find(of as Resource<StoredObject>, key);
    return found === undefined ? undefined : withoutManagedFields(found);
  }

  async changed(milliseconds: number): Promise<void> {
    if (!this.#hasChanged) {
      const over = new AbortController();
      this.#notify = () => over.abort();
      await pause(milliseconds, over.signal).catch(() => undefined);
      this.#notify = undefined;
    }
    this.#hasChanged = false;
  }

  async #listed(of: Resource): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    for await (const object of this.#client.list(of as Resource<StoredObject>, { namespace: this.#namespace })) {
      found.push(withoutManagedFields(object));
    }
    return found;
  }

  #watched(of: Resource, name: string | undefined, signal: AbortSignal): Promise<Cache<StoredObject>> {
    const key = `${of.plural}.${of.group}/${name ?? ''}`;
    return this.#caches.getOrInsertComputed(key, async () => {
      const failed = new AbortController();
      try {
        return await this.#watch(of, name, AbortSignal.any([signal, failed.signal]));
      } catch (error) {
        // A process that follows for days tries again at the next read.
        failed.abort();
        this.#caches.delete(key);
        throw error;
      }
    });
  }

  async #watch(of: Resource, name: string | undefined, signal: AbortSignal): Promise<Cache<StoredObject>> {
    const startedAt = performance.now();
    const { promise: refused, reject } = Promise.withResolvers<never>();
    const cache = startInformer<StoredObject>(this.#client, of as Resource<StoredObject>, {
      namespace: this.#namespace,
      ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
      signal,
      onProblem: ({ error }) => {
        if (isFinal(error) || performance.now() - startedAt > FIRST_LIST_WITHIN) reject(error);
      },
    });
    cache.synced.catch(() => undefined);
    refused.catch(() => undefined);
    await Promise.race([cache.synced, refused]);
    const onChange = (): void => {
      this.#hasChanged = true;
      this.#notify?.();
    };
    cache.onChange(bounded('look/resource-changed', onChange));
    return cache;
  }
}

/** Milliseconds in which a failing API server may recover. */
const FIRST_LIST_WITHIN = 10_000;

/** A retry is useless. Other errors may come from a list option that an older API server does not support. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404].includes(error.status);
}

function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
