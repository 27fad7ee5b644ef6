import type {
  DeleteOptions,
  Key,
  KubeClient,
  Page,
  PageOptions,
  PatchOptions,
  RequestOptions,
  Selection,
  WatchOptions,
  WriteOptions,
} from '../contract.ts';
import { LeaseLostError } from '../errors.ts';
import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';

/**
 * A leader's client that writes only while the lease is held. A frozen process continues before any timer reports that another
 * one leads, so each write checks the clock first. A write in progress when the process froze cannot be cancelled; its UID or
 * resourceVersion limits what it can do.
 */
export class FencedClient implements KubeClient {
  readonly #client: KubeClient;
  readonly #stillLeading: () => boolean;

  constructor(client: KubeClient, stillLeading: () => boolean) {
    this.#client = client;
    this.#stillLeading = stillLeading;
  }

  get<T extends KubeObject>(of: Resource<T>, key: Key, options?: RequestOptions): Promise<T> {
    return this.#client.get(of, key, options);
  }

  find<T extends KubeObject>(of: Resource<T>, key: Key, options?: RequestOptions): Promise<T | undefined> {
    return this.#client.find(of, key, options);
  }

  list<T extends KubeObject>(of: Resource<T>, selection?: Selection, options?: RequestOptions): AsyncIterable<T> {
    return this.#client.list(of, selection, options);
  }

  page<T extends KubeObject>(of: Resource<T>, selection: Selection, options?: PageOptions): Promise<Page<T>> {
    return this.#client.page(of, selection, options);
  }

  watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void> {
    return this.#client.watch(of, options);
  }

  create<T extends KubeObject>(of: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#write(of, () => this.#client.create(of, object, options));
  }

  apply<T extends KubeObject>(of: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#write(of, () => this.#client.apply(of, object, options));
  }

  patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T> {
    return this.#write(of, () => this.#client.patch(of, key, patch, options));
  }

  delete(of: Resource, key: Key, options?: DeleteOptions): Promise<void> {
    return this.#write(of, () => this.#client.delete(of, key, options));
  }

  /** The underlying client belongs to its owner. */
  async [Symbol.asyncDispose](): Promise<void> {}

  async #write<R>(of: Resource, send: () => Promise<R>): Promise<R> {
    if (!this.#stillLeading()) throw new LeaseLostError(`Write to ${of.plural} refused: the Lease was not renewed in time.`);
    return send();
  }
}
