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
 * A leader's client: it writes only while the lease is held. A process that was frozen goes on where it stood, before any
 * timer tells it that another leads; so each write asks the clock first. (A write that was under way when the process
 * froze cannot be called back; what it may do is what the uid or resourceVersion in it allows.)
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

  /** The client is its owner's. */
  async [Symbol.asyncDispose](): Promise<void> {}

  async #write<R>(of: Resource, send: () => Promise<R>): Promise<R> {
    if (!this.#stillLeading()) throw new LeaseLostError(`Nothing is written to ${of.plural}: the lease has not been renewed in time.`);
    return send();
  }
}
