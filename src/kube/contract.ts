/**
 * What the other rooms see of the Kubernetes client. Everything below is implemented in this folder; nothing here
 * knows a Listener.
 */
import type { KubeObject, ObjectReference } from './objects.ts';
import type { Resource } from './resource.ts';

/** Names one object. `namespace` is left out for cluster-scoped kinds. */
export interface Key {
  readonly namespace?: string;
  readonly name: string;
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of caches, and what queues are given. */
export type KeyString = string;

export interface RequestOptions {
  readonly signal?: AbortSignal;
}

export interface Selection {
  /** Left out: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface WriteOptions extends RequestOptions {
  /** The field manager (metadata.managedFields); defaults to the client's own. */
  readonly fieldManager?: string;
  readonly subresource?: 'status';
  /** Refuse fields that the kind does not have (400) instead of dropping them. Server-side apply refuses them anyway. */
  readonly strict?: boolean;
}

export interface PatchOptions extends WriteOptions {
  /** merge: RFC 7386. json: RFC 6902. */
  readonly type: 'merge' | 'json';
}

export interface DeleteOptions extends RequestOptions {
  /** The call fails with a conflict when the object is another one. */
  readonly uid?: string;
}

/** One page of a list. */
export interface Page<T extends KubeObject> {
  readonly items: readonly T[];
  /** Where a watch goes on from, once the last page is in. */
  readonly resourceVersion: string;
  /** Present where more pages follow. */
  readonly continue?: string;
}

export interface PageOptions extends RequestOptions {
  readonly limit?: number;
  readonly continue?: string;
}

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** `initialEventsEnd`: all objects that existed when the watch began have been sent (sendInitialEvents). */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

export interface WatchOptions<T extends KubeObject> extends Selection {
  /** `{ after }`: changes after that resourceVersion. `{ initial: true }`: all objects first, then changes (watch-list). */
  readonly from: { readonly after: string } | { readonly initial: true };
  /** The server ends the watch after this many seconds. */
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
  /** Called synchronously and in order. What it throws ends the watch and is what `watch` rejects with. */
  readonly onEvent: (event: WatchEvent<T>) => void;
}

/** What a watch cache needs of a client. */
export interface ListWatch {
  page<T extends KubeObject>(of: Resource<T>, selection: Selection, options?: PageOptions): Promise<Page<T>>;
  /** Resolves when the server ends the watch in good order; rejects with an `ApiError` for an ERROR event. */
  watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void>;
}

/**
 * One API server. Every method rejects with an `ApiError` (the server answered with a Status), a
 * `TransportError` (no whole answer arrived), an `EarshotError` `kube-name` (a name that is no path segment) or, once its signal is
 * aborted, the signal's reason; the classes are in errors.ts.
 */
export interface KubeClient extends ListWatch, AsyncDisposable {
  get<T extends KubeObject>(of: Resource<T>, key: Key, options?: RequestOptions): Promise<T>;
  /** Undefined where the server answers 404 for the object. */
  find<T extends KubeObject>(of: Resource<T>, key: Key, options?: RequestOptions): Promise<T | undefined>;
  /** All objects, in pages (limit 500, `continue`); pages are fetched as they are consumed. */
  list<T extends KubeObject>(of: Resource<T>, selection?: Selection, options?: RequestOptions): AsyncIterable<T>;
  create<T extends KubeObject>(of: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Server-side apply; name and namespace come from the object. Fields of other managers are taken over. */
  apply<T extends KubeObject>(of: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T>;
  delete(of: Resource, key: Key, options?: DeleteOptions): Promise<void>;
}

/** Requests to one pod, for people. */
export interface PodAccess {
  /** The last lines that a container of the pod wrote. */
  log(pod: Key, options: LogOptions): Promise<string>;
  /** The same, and each further line until the container or the signal ends it. */
  followLog(pod: Key, options: LogOptions, onLine: (line: string) => void): Promise<void>;
  /** The body that the pod's HTTP server at `port` answers with, whatever its status. Takes the right to `get` `pods/proxy`. */
  getFromPod(pod: Key, options: PodRequest): Promise<string>;
}

export interface LogOptions extends RequestOptions {
  readonly container: string;
  readonly lines: number;
  /** Of the container's run before its last restart. */
  readonly previous?: true;
}

export interface PodRequest extends RequestOptions {
  readonly port: number;
  /** Last segment of the path: `metrics`. */
  readonly page: string;
}

export interface Change<T> {
  readonly type: 'added' | 'modified' | 'deleted';
  /** For `deleted`, the last state known. */
  readonly object: T;
  /** For `modified`, the state before. */
  readonly previous?: T;
}

/** A watch cache as its readers see it. Only the informer that fills it can write. */
export interface Cache<T extends KubeObject> {
  readonly size: number;
  get(key: KeyString): T | undefined;
  values(): IterableIterator<T>;
  /** Objects whose index function (given to the informer) returned `value`. Throws on an unknown index. */
  by(index: string, value: string): readonly T[];
  /** Resolves once the first whole list is in; rejects when the informer stops before that. */
  readonly synced: Promise<void>;
  readonly isSynced: boolean;
  /** Of the last whole list, empty before the first: an object of this resourceVersion or an older one that is not here does not exist. */
  readonly listedAt: string;
  /** Called when a whole list has become current, after the changes that it brought. Returns the way to stop. */
  onRelist(handler: () => void): () => void;
  /** Called synchronously, after the cache holds the change. Returns the way to stop. */
  onChange(handler: (change: Change<T>) => void): () => void;
}

export interface InformerOptions<S extends KubeObject, T extends KubeObject> extends Selection {
  /**
   * Reduces each object to what is needed before it is kept; undefined leaves the object out of the cache. Without it
   * the whole object is kept but for `metadata.managedFields`, which is often half of it.
   */
  readonly project?: (object: S) => T | undefined;
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  readonly signal: AbortSignal;
  /** Told of everything that the informer recovers from: a cut watch, a relist, a handler or projection that threw. */
  readonly onTrouble?: (trouble: InformerTrouble) => void;
}

export interface InformerTrouble {
  readonly resource: string;
  /** resume: goes on from the last point. relist: begins anew. callback: the caller's own code threw. */
  readonly kind: 'resume' | 'relist' | 'callback';
  readonly error: unknown;
  /** Milliseconds until the next try; 0 for `callback`. */
  readonly delay: number;
}

export type StartInformer = <S extends KubeObject, T extends KubeObject = S>(
  client: ListWatch,
  of: Resource<S>,
  options: InformerOptions<S, T>,
) => Cache<T>;

/** Writes events.k8s.io/v1 events, aggregated: the same one again raises a count instead of a new object. */
export interface EventRecorder extends AsyncDisposable {
  /**
   * Never rejects and never delays the caller; a failure is logged and counted. `note` is cut at 1,024 bytes.
   */
  record(event: {
    readonly regarding: ObjectReference;
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
    readonly action: string;
    readonly note: string;
  }): void;
}
