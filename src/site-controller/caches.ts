/** What the controller of sites keeps of the cluster: every kind in one way, so that rules ask for all of them alike. */
import { skupperResources } from '../api/skupper/index.ts';
import { GROUP } from '../api/skupper/names.ts';
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
  /** Left out: all namespaces. */
  readonly namespace?: string | undefined;
  /** Names of the resources (`routes.v1.route.openshift.io`) that the cluster serves, besides Kubernetes' own and Earshot's. */
  readonly served: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

interface Started {
  readonly view: WriteThroughCache<KubeObject>;
  readonly end: AbortController;
  /** Why the cluster does not serve the kind, of those that it need not. */
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
   * Lists every kind anew, and resolves once all of it is in: what whoever led before has done is known then. A watch may be late, and kinds
   * are not late alike: what is there without its cause would be taken away.
   */
  async renew(): Promise<void> {
    const started = allKept.filter(({ of }) => this.has(of)).map((kept) => ({ of: kept.of, started: this.#start(kept) }));
    await Promise.all(started.map((each) => listed(each.started)));
    for (const each of started) {
      if (!('unserved' in each.started)) this.#keep(each.of, each.started);
      else this.#drop(each.of);
    }
  }

  /** Keeps an optional kind that the cluster serves only now, once the first list of it is in. Without effect on one that is kept already. */
  async add(of: Resource): Promise<void> {
    const kept = keptObjects.find((each) => each.of === of);
    if (kept === undefined || this.has(of)) return;
    const started = this.#start(kept);
    await listed(started);
    if ('unserved' in started) throw started.unserved;
    this.#keep(of, started);
    for (const told of this.#ofKinds) told();
  }

  /** Told when a kind was added, or is served no more. Returns the way to stop. */
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
      // Its definition was deleted, or the program that serves it. Nothing waits for its list any more.
      onTrouble: ({ kind, error }) => {
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
    if (this.#kept.delete(nameOf(of))) for (const told of this.#ofKinds) told();
  }

  /** In place of what was kept of that kind. */
  #keep(of: Resource, started: Started): void {
    const { view } = started;
    this.#kept.get(nameOf(of))?.end.abort();
    this.#kept.set(nameOf(of), started);
    view.onChange((change) => {
      if (!view.isEcho(change)) for (const handler of this.#handlers) handler(of, change);
    });
  }

  /** Of namespaces that are followed for their pods; undefined where they have not been listed yet. */
  podsOf(namespace: string): readonly SelectablePod[] | undefined {
    return this.#pods.of(namespace);
  }

  /** Follows the pods of these namespaces, and of no others. */
  followPods(namespaces: ReadonlySet<string>): void {
    this.#pods.follow(namespaces);
  }

  /** Told of namespaces whose pods are followed, each time that they are others than before. */
  onPods(handler: (namespace: string) => void): () => void {
    this.#podHandlers.add(handler);
    return () => this.#podHandlers.delete(handler);
  }

  get synced(): Promise<unknown> {
    return Promise.all([...this.#kept.values()].map(listed));
  }

  /** The kinds whose first list is not in yet. */
  get missing(): readonly string[] {
    return [...this.#kept].filter(([, { view }]) => !view.isSynced).map(([name]) => name);
  }

  has(of: Resource): boolean {
    return this.#kept.has(nameOf(of));
  }

  /** @throws TypeError where the kind is not kept: a mistake of the program */
  view<T extends KubeObject>(of: Resource<T>): WriteThroughCache<T> {
    const view = this.#kept.get(nameOf(of))?.view;
    if (view === undefined) throw new TypeError(`${nameOf(of)} are not kept`);
    // Each view was made for the resource of its name.
    return view as unknown as WriteThroughCache<T>;
  }

  /** By name, with what was written and not seen yet. */
  list<T extends KubeObject>(of: Resource<T>, namespace: string): readonly T[] {
    if (!this.has(of)) return [];
    const view = this.view(of);
    const seen = view.by(NAMESPACE, namespace).map((object) => view.get(`${namespace}/${object.metadata.name}`) ?? object);
    const pending = view.pending().filter(({ metadata }) => metadata.namespace === namespace);
    return [...seen, ...pending].sort((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
  }

  /** How many of Earshot's own resources a namespace has. */
  count(namespace: string): number {
    return Object.values(skupperResources).reduce((total, of) => total + this.view(of).by(NAMESPACE, namespace).length, 0);
  }

  /** All namespaces in which there is something of a kind. */
  namespacesWith(of: Resource): ReadonlySet<string> {
    return new Set([...(this.#kept.get(nameOf(of))?.view.values() ?? [])].map(({ metadata }) => metadata.namespace ?? ''));
  }

  /** Told of every change of every kind that is not the echo of a status that this process wrote. */
  onChange(handler: Handler): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}

/** Resolves once the first list is in, or is not to be had since the cluster does not serve the kind. */
async function listed(started: Started): Promise<void> {
  try {
    await started.view.synced;
  } catch (error) {
    if (!('unserved' in started)) throw error;
  }
}

/** As kubectl takes it: `routes.v1.route.openshift.io`; `services` of the core group. */
export function nameOf({ plural, version, group }: Resource): string {
  return group === '' ? plural : `${plural}.${version}.${group}`;
}

/** Of Earshot's own kinds this process writes the status, and needs no second look at that. */
function ownPartOf({ group }: Resource): ConstructorParameters<typeof WriteThroughCache<KubeObject>>[1] {
  if (group !== GROUP) return undefined;
  return (object) => {
    const { status, ...others } = object as KubeObject & { readonly status?: unknown };
    return { own: status, others };
  };
}
