/**
 * Interfaces of the Kubernetes client for other modules. They are implemented in this directory, and nothing here depends on
 * Listeners.
 */
import type { Duplex } from 'node:stream';
import type { KubeObject, ObjectReference } from './objects.ts';
import type { Resource } from './resource.ts';

/** Name of one object. `namespace` is absent for cluster-scoped kinds. */
export interface Key {
  readonly namespace?: string;
  readonly name: string;
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of caches and queues. */
export type KeyString = string;

export interface RequestOptions {
  readonly signal?: AbortSignal;
}

export interface Selection {
  /** Namespace to select. Default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface WriteOptions extends RequestOptions {
  /** Field manager (metadata.managedFields). Default: the client's own. */
  readonly fieldManager?: string;
  readonly subresource?: 'status';
  /** Whether to refuse unknown fields (400) instead of dropping them. Server-side apply always refuses them. */
  readonly strict?: boolean;
}

export interface PatchOptions extends WriteOptions {
  /** merge: RFC 7386. json: RFC 6902. */
  readonly type: 'merge' | 'json';
}

export interface DeleteOptions extends RequestOptions {
  /** UID precondition: the call fails with a conflict if the object has another UID. */
  readonly uid?: string;
}

/** One page of a list. */
export interface Page<T extends KubeObject> {
  readonly items: readonly T[];
  /** Version from which a watch can start after the last page. */
  readonly resourceVersion: string;
  /** Token of the next page, if there is one. */
  readonly continue?: string;
}

export interface PageOptions extends RequestOptions {
  readonly limit?: number;
  readonly continue?: string;
}

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** `initialEventsEnd`: all objects that existed at the start of the watch have been sent (sendInitialEvents). */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

export interface WatchOptions<T extends KubeObject> extends Selection {
  /** `{ after }`: changes after that resourceVersion. `{ initial: true }`: all objects first, then changes (watch-list). */
  readonly from: { readonly after: string } | { readonly initial: true };
  /** Seconds after which the server ends the watch. */
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
  /** Called synchronously and in order. An error thrown here ends and rejects the watch. */
  readonly onEvent: (event: WatchEvent<T>) => void;
}

/** Client methods that a watch cache needs. */
export interface ListWatch {
  page<T extends KubeObject>(of: Resource<T>, selection: Selection, options?: PageOptions): Promise<Page<T>>;
  /** Resolves when the server ends the watch normally; rejects with an `ApiError` for an ERROR event. */
  watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void>;
}

/**
 * Client of one API server. Methods reject with an `ApiError` (the server answered with a Status) or a `TransportError` (no
 * complete response). They also reject with an `EarshotError` `kube-name` (a name that is not a path segment), or the reason of
 * an aborted signal. Classes: errors.ts.
 */
export interface KubeClient extends ListWatch, AsyncDisposable {
  get<T extends KubeObject>(of: Resource<T>, key: Key, options?: RequestOptions): Promise<T>;
  /** Undefined if the object does not exist (404). */
  find<T extends KubeObject>(of: Resource<T>, key: Key, options?: RequestOptions): Promise<T | undefined>;
  /** All objects, in pages that are fetched as they are consumed (limit 500, `continue`). */
  list<T extends KubeObject>(of: Resource<T>, selection?: Selection, options?: RequestOptions): AsyncIterable<T>;
  create<T extends KubeObject>(of: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Server-side apply. Name and namespace come from the object. Conflicting fields of other managers are taken over. */
  apply<T extends KubeObject>(of: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T>;
  delete(of: Resource, key: Key, options?: DeleteOptions): Promise<void>;
}

/** Kinds that the API server has. By default, all authenticated users may ask for them. */
export interface Discovery {
  /** Whether the API server has the kind. */
  serves(of: Resource, options?: RequestOptions): Promise<boolean>;
}

/** Requests to one pod, on behalf of a user. */
export interface PodAccess {
  /** Returns the last lines of a container's log. */
  log(pod: Key, options: LogOptions): Promise<string>;
  /** Passes on the last lines and each new line until the container ends or the signal is aborted. */
  followLog(pod: Key, options: LogOptions, onLine: (line: string) => void): Promise<void>;
  /** Body of the response from the pod's HTTP server at `port`, whatever its status. Requires permission to `get` `pods/proxy`. */
  getFromPod(pod: Key, options: PodRequest): Promise<string>;
  /** Opens a TCP stream to a port of the pod. Requires permission to `get` and `create` `pods/portforward`. */
  openPort(pod: Key, port: number, options?: RequestOptions): Promise<Duplex>;
}

export interface LogOptions extends RequestOptions {
  readonly container: string;
  readonly lines: number;
  /** Whether to return the log of the container's run before its last restart. */
  readonly previous?: true;
}

export interface PodRequest extends RequestOptions {
  readonly port: number;
  /** Last segment of the path, such as `metrics`. */
  readonly page: string;
}

export interface Change<T> {
  readonly type: 'added' | 'modified' | 'deleted';
  /** For `deleted`, the last known state. */
  readonly object: T;
  /** For `modified`, the previous state. */
  readonly previous?: T;
}

/** The read side of a watch cache. Only the informer that fills it can write. */
export interface Cache<T extends KubeObject> {
  readonly size: number;
  get(key: KeyString): T | undefined;
  values(): IterableIterator<T>;
  /** Objects whose index function (passed to the informer) returned `value`. Throws for an unknown index. */
  by(index: string, value: string): readonly T[];
  /** Resolves once the first list is complete; rejects if the informer stops earlier. */
  readonly synced: Promise<void>;
  readonly isSynced: boolean;
  /**
   * resourceVersion of the last complete list; empty before the first. An object of this or an older version that is not in the
   * cache does not exist.
   */
  readonly listedAt: string;
  /** Registers a handler for complete lists, called after their changes. Returns a function to unregister it. */
  onRelist(handler: () => void): () => void;
  /** Registers a handler, called synchronously after the cache contains the change. Returns a function to unregister it. */
  onChange(handler: (change: Change<T>) => void): () => void;
}

export interface InformerOptions<S extends KubeObject, T extends KubeObject> extends Selection {
  /**
   * Reduces each object before it is cached; undefined excludes it. Default: the whole object without `metadata.managedFields`,
   * which is often half of it.
   */
  readonly project?: (object: S) => T | undefined;
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  readonly signal: AbortSignal;
  /**
   * Called for everything that the informer recovers from: an interrupted watch, a relist, an error in a handler or projection.
   */
  readonly onProblem?: (problem: InformerProblem) => void;
}

export interface InformerProblem {
  readonly resource: string;
  /** resume: continues from the last version. relist: starts again. callback: the caller's own code threw. */
  readonly kind: 'resume' | 'relist' | 'callback';
  readonly error: unknown;
  /** Milliseconds until the next attempt; 0 for `callback`. */
  readonly delay: number;
}

export type StartInformer = <S extends KubeObject, T extends KubeObject = S>(
  client: ListWatch,
  of: Resource<S>,
  options: InformerOptions<S, T>,
) => Cache<T>;

/** Writes events.k8s.io/v1 events. Repeated events increase a count instead of creating a new object. */
export interface EventRecorder extends AsyncDisposable {
  /** Never rejects and never delays the caller; failures are logged and counted. `note` is truncated to 1,024 bytes. */
  record(event: {
    readonly regarding: ObjectReference;
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
    readonly action: string;
    readonly note: string;
  }): void;
}
