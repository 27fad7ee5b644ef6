/** Caches of the site controller: one for each kind, all with the same interface. */
import { skupperResources } from '../api/skupper/index.ts';
import { GROUP } from '../api/skupper/names.ts';
import { OBSERVABILITY_GROUP } from '../api/skupper/network-observer.ts';
import type { Change, KubeClient, StartInformer } from '../kube/contract.ts';
import { isNotFound } from '../kube/errors.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import { WriteThroughCache } from '../kube/watch/write-through-cache.ts';
import type { SelectablePod } from '../site/material.ts';
import { NamespacePods } from './attached/namespace-pods.ts';
import { keptObjects, withoutManagement, type Kept } from './kept-objects.ts';

const NAMESPACE = 'namespace';

const ownKinds: readonly Kept[] = Object.values(skupperResources).map((of) => ({ of, project: withoutManagement }));
const allKept: readonly Kept[] = [...ownKinds, ...keptObjects];

export interface SiteCachesOptions {
  readonly start: StartInformer;
  readonly client: KubeClient;
  /** All namespaces if undefined. */
  readonly namespace?: string | undefined;
  /** Names (`routes.v1.route.openshift.io`) of the resources that the cluster serves besides those of Kubernetes and Earshot. */
  readonly served: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

interface Started {
  readonly view: WriteThroughCache<KubeObject>;
  readonly end: AbortController;
  /** Error of an optional kind that the cluster does not serve. */
  unserved?: unknown;
}

type Handler = (of: Resource, change: Change<KubeObject>) => void;

export class SiteCaches {
  readonly #options: Omit<SiteCachesOptions, 'served'>;
  readonly #kept = new Map<string, Started>();
  readonly #handlers = new Set<Handler>();
  readonly #ofKinds = new Set<() => void>();
  readonly #pods: NamespacePods;
  readonly #podHandlers = new Set<(namespace: string) => void>();

  constructor({ served, ...options }: SiteCachesOptions) {
    const { start, client, signal } = options;
    const onChange = (changed: string): void => {
      for (const handler of this.#podHandlers) handler(changed);
    };
    this.#options = options;
    this.#pods = new NamespacePods({ start, client, signal, onChange });
    for (const kept of allKept) {
      if (kept.optional !== true || served.has(nameOf(kept.of))) this.#keep(kept.of, this.#start(kept));
    }
  }

  /**
   * Lists every kind again and resolves once all lists are complete, so that all writes of the former leader are known. Watches lag by
   * different amounts: an object that is seen before its cause would be deleted.
   */
  async renew(): Promise<void> {
    const started = allKept.filter(({ of }) => this.has(of)).map((kept) => ({ of: kept.of, started: this.#start(kept) }));
    await Promise.all(started.map((each) => listed(each.started)));
    for (const each of started) {
      if (!('unserved' in each.started)) this.#keep(each.of, each.started);
      else this.#drop(each.of);
    }
  }

  /** Adds an optional kind that the cluster has begun to serve, after its first list. No-op if the kind is already cached. */
  async add(of: Resource): Promise<void> {
    const kept = keptObjects.find((each) => each.of === of);
    if (kept === undefined || this.has(of)) return;
    const started = this.#start(kept);
    await listed(started);
    if ('unserved' in started) throw started.unserved;
    this.#keep(of, started);
    for (const notify of this.#ofKinds) notify();
  }

  /** Calls the handler when a kind is added or no longer served. Returns a function that unsubscribes it. */
  onKind(handler: () => void): () => void {
    this.#ofKinds.add(handler);
    return () => this.#ofKinds.delete(handler);
  }

  #start({ of, optional, ...how }: Kept): Started {
    const { start, client, namespace, signal } = this.#options;
    const end = new AbortController();
    const cache = start<KubeObject>(client, of, {
      ...(namespace === undefined ? {} : { namespace }),
      ...how,
      signal: AbortSignal.any([signal, end.signal]),
      indexes: { [NAMESPACE]: ({ metadata }) => [metadata.namespace ?? ''] },
      // The CRD was deleted, or the program that serves the kind. Stops waiting for its list.
      onProblem: ({ kind, error }) => {
        if (optional !== true || kind === 'callback' || !isNotFound(error)) return;
        started.unserved = error;
        end.abort();
        if (this.#kept.get(nameOf(of)) === started) this.#drop(of);
      },
    });
    const started: Started = { view: new WriteThroughCache<KubeObject>(cache, ownPartOf(of)), end };
    return started;
  }

  #drop(of: Resource): void {
    this.#kept.get(nameOf(of))?.end.abort();
    if (this.#kept.delete(nameOf(of))) for (const notify of this.#ofKinds) notify();
  }

  /** Replaces the cache of that kind. */
  #keep(of: Resource, started: Started): void {
    const { view } = started;
    this.#kept.get(nameOf(of))?.end.abort();
    this.#kept.set(nameOf(of), started);
    view.onChange((change) => {
      if (!view.isEcho(change)) for (const handler of this.#handlers) handler(of, change);
    });
  }

  /** Pods of a watched namespace; undefined if they are not listed yet. */
  podsOf(namespace: string): readonly SelectablePod[] | undefined {
    return this.#pods.of(namespace);
  }

  /** Watches the pods of exactly these namespaces. */
  followPods(namespaces: ReadonlySet<string>): void {
    this.#pods.follow(namespaces);
  }

  /** Calls the handler with a watched namespace whenever its pods change. */
  onPods(handler: (namespace: string) => void): () => void {
    this.#podHandlers.add(handler);
    return () => this.#podHandlers.delete(handler);
  }

  get synced(): Promise<unknown> {
    return Promise.all([...this.#kept.values()].map(listed));
  }

  /** Kinds whose first list is not complete. */
  get missing(): readonly string[] {
    return [...this.#kept].filter(([, { view }]) => !view.isSynced).map(([name]) => name);
  }

  has(of: Resource): boolean {
    return this.#kept.has(nameOf(of));
  }

  /** @throws TypeError if the kind is not cached: a programming error */
  view<T extends KubeObject>(of: Resource<T>): WriteThroughCache<T> {
    const view = this.#kept.get(nameOf(of))?.view;
    if (view === undefined) throw new TypeError(`${nameOf(of)} are not cached`);
    // Each cache was created for the resource of its name.
    return view as unknown as WriteThroughCache<T>;
  }

  /** Sorted by name, including writes that the watch has not delivered yet. */
  list<T extends KubeObject>(of: Resource<T>, namespace: string): readonly T[] {
    if (!this.has(of)) return [];
    const view = this.view(of);
    const seen = view.by(NAMESPACE, namespace).map((object) => view.get(`${namespace}/${object.metadata.name}`) ?? object);
    const pending = view.pending().filter(({ metadata }) => metadata.namespace === namespace);
    return [...seen, ...pending].sort((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
  }

  /** Number of Earshot's own resources in a namespace. */
  count(namespace: string): number {
    return Object.values(skupperResources).reduce((total, of) => total + this.view(of).by(NAMESPACE, namespace).length, 0);
  }

  /** Namespaces that contain an object of the kind. */
  namespacesWith(of: Resource): ReadonlySet<string> {
    return new Set([...(this.#kept.get(nameOf(of))?.view.values() ?? [])].map(({ metadata }) => metadata.namespace ?? ''));
  }

  /** Calls the handler on every change that is not the echo of a status that this process wrote. */
  onChange(handler: Handler): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}

/** Resolves once the first list is complete, or once the cluster turns out not to serve the kind. */
async function listed(started: Started): Promise<void> {
  try {
    await started.view.synced;
  } catch (error) {
    if (!('unserved' in started)) throw error;
  }
}

/** Name in the notation of kubectl: `routes.v1.route.openshift.io`, or `services` for the core group. */
export function nameOf({ plural, version, group }: Resource): string {
  return group === '' ? plural : `${plural}.${version}.${group}`;
}

/** This process writes the status of Earshot's own kinds, so a change of that status alone is an echo. */
function ownPartOf({ group }: Resource): ConstructorParameters<typeof WriteThroughCache<KubeObject>>[1] {
  if (group !== GROUP && group !== OBSERVABILITY_GROUP) return undefined;
  return (object) => {
    const { status, ...others } = object as KubeObject & { readonly status?: unknown };
    return { own: status, others };
  };
}
