/** A namespace of one test, with the ListenerClasses that the test made: everything in it is gone, or going, afterwards. */
import { randomBytes } from 'node:crypto';
import { after, before } from 'node:test';
import type { Listener, ListenerClassSpec, ListenerSpec, PodListeners } from '../../../src/api/listeners/index.ts';
import type { Condition, KubeObject, PersistentVolume, PersistentVolumeClaim, Pod, Service } from '../../../src/kube/objects.ts';
import { connectCluster, eventually, type Cluster } from '../../harness/index.ts';
import { API, listenerClass, listener as listenerManifest, type Manifest } from './manifests.ts';
import { collectionOf, collectionOfObject } from './paths.ts';
import { mountPath, readTree, untilFile, type TreeFiles } from './tree.ts';

/** Kinds of the core group, as far as tests read them. */
export interface Event extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

export interface RunningPod extends Pod {
  readonly spec: NonNullable<Pod['spec']> & { readonly nodeName: string };
  readonly status: { readonly phase?: string; readonly podIP: string; readonly hostIP: string };
}

export async function openNamespace(cluster: Cluster, purpose: string): Promise<Namespace> {
  const namespace = new Namespace(cluster, freshName(purpose));
  await namespace.open();
  return namespace;
}

/**
 * The namespace of all tests of a `describe`, with classes by their suffixes, on the cluster of the run: it is there before they begin, and
 * gone after them, when the cluster is released too. Earlier steps, before or after, have to be registered first.
 */
export function useNamespace(
  purpose: string,
  classes: Readonly<Record<string, ListenerClassSpec>> = {},
  cluster: Cluster = connectCluster(),
): Namespace {
  const namespace = new Namespace(cluster, freshName(purpose));
  before(async () => {
    await namespace.open();
    for (const [suffix, spec] of Object.entries(classes)) await namespace.class(suffix, spec);
  });
  after(async () => {
    await namespace[Symbol.asyncDispose]();
    await cluster.api.close();
  });
  return namespace;
}

export class Namespace implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly name: string;
  readonly #classes: string[] = [];

  constructor(cluster: Cluster, name: string) {
    this.cluster = cluster;
    this.name = name;
  }

  async open(): Promise<void> {
    const { api } = this.cluster;
    await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.name } });
    // Pods are refused until the controller manager has made it.
    const account = `/api/v1/namespaces/${this.name}/serviceaccounts/default`;
    await eventually('the default service account', () => api.find(account), { everyMs: 20 });
  }

  /** Creates manifests one after the other; returns the last one as the API server has it. */
  async create<T extends KubeObject = KubeObject>(...manifests: readonly Manifest[]): Promise<T> {
    let created: T | undefined;
    for (const manifest of manifests) created = await this.cluster.api.create<T>(collectionOfObject(manifest, this.name), manifest);
    if (created === undefined) throw new TypeError('nothing to create');
    return created;
  }

  /** Makes a ListenerClass for this test alone, and returns its name. */
  async class(suffix: string, spec: ListenerClassSpec): Promise<string> {
    const name = this.className(suffix);
    await this.create(listenerClass(name, spec));
    this.#classes.push(name);
    return name;
  }

  /** Classes live outside of namespaces, so their names begin with the namespace's. */
  className(suffix: string): string {
    return `${this.name}-${suffix}`;
  }

  async listener(name: string, spec: ListenerSpec, metadata: object = {}): Promise<Listener> {
    return this.create<Listener>(listenerManifest(name, spec, metadata));
  }

  /** Makes a class for this Listener alone, and the Listener, with one port (http, 8080); returns the class's name. */
  async exposed(name: string, classSpec: ListenerClassSpec): Promise<string> {
    const className = await this.class(name, classSpec);
    await this.listener(name, { className, ports: [{ name: 'http', port: 8080 }] });
    return className;
  }

  get<T extends KubeObject>(apiVersion: string, kind: string, name: string): Promise<T | undefined> {
    return this.cluster.api.find<T>(`${collectionOf(apiVersion, kind, this.name)}/${name}`);
  }

  /** A JSON merge patch. */
  async patch<T extends KubeObject>(apiVersion: string, kind: string, name: string, patch: object): Promise<T> {
    return this.cluster.api.patch<T>(`${collectionOf(apiVersion, kind, this.name)}/${name}`, patch);
  }

  async remove(apiVersion: string, kind: string, name: string): Promise<void> {
    await this.cluster.api.remove(`${collectionOf(apiVersion, kind, this.name)}/${name}`);
  }

  async service(name: string): Promise<Service> {
    return this.#existing<Service>('v1', 'Service', name);
  }

  async claim(name: string): Promise<PersistentVolumeClaim> {
    return this.#existing<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', name);
  }

  /** The volume that a claim is bound to. */
  async volumeOf(claim: string): Promise<PersistentVolume> {
    const { spec } = await this.claim(claim);
    return this.#existing<PersistentVolume>('v1', 'PersistentVolume', spec?.volumeName ?? '');
  }

  async podListeners(pod: string): Promise<PodListeners> {
    const { metadata } = await this.#existing<Pod>('v1', 'Pod', pod);
    return this.#existing<PodListeners>(API, 'PodListeners', `pod-${metadata.uid}`);
  }

  /** Waits until an object is as wanted. The failure shows what it was last. */
  async until<T extends KubeObject>(
    of: { readonly apiVersion: string; readonly kind: string; readonly name: string },
    what: string,
    isWanted: (object: T) => boolean,
    timeoutMs = 60_000,
  ): Promise<T> {
    return eventually<T>(
      `${of.kind} ${this.name}/${of.name} ${what}`,
      async () => {
        const object = await this.get<T>(of.apiVersion, of.kind, of.name);
        if (object !== undefined && isWanted(object)) return object;
        const { metadata: _metadata, ...rest } = object ?? { metadata: {} };
        throw new Error(object === undefined ? 'it does not exist' : JSON.stringify(rest));
      },
      { timeoutMs },
    );
  }

  untilListener(name: string, what: string, isWanted: (listener: Listener) => boolean, timeoutMs?: number): Promise<Listener> {
    return this.until<Listener>({ apiVersion: API, kind: 'Listener', name }, what, isWanted, timeoutMs);
  }

  untilService(name: string, what: string, isWanted: (service: Service) => boolean, timeoutMs?: number): Promise<Service> {
    return this.until<Service>({ apiVersion: 'v1', kind: 'Service', name }, what, isWanted, timeoutMs);
  }

  /** Waits for a Listener with an address, by its condition, of the present generation. */
  async ready(name: string): Promise<Listener> {
    return this.untilListener(name, 'to be ready', (listener) => {
      const condition = conditionOf(listener, 'Ready');
      return condition?.status === 'True' && condition.observedGeneration === listener.metadata.generation;
    });
  }

  /** Waits for a condition of this status and reason, and returns it. */
  async condition(name: string, type: 'Accepted' | 'Ready', status: Condition['status'], reason: string): Promise<Condition> {
    const matches = (listener: Listener): Condition | undefined => {
      const condition = conditionOf(listener, type);
      return condition?.status === status && condition.reason === reason ? condition : undefined;
    };
    const found = matches(
      await this.untilListener(name, `to have ${type}=${status}, ${reason}`, (listener) => matches(listener) !== undefined),
    );
    if (found === undefined) throw new TypeError('the wait ended without the condition that it waited for');
    return found;
  }

  /** Waits for pods that run, ready containers and all. */
  async running(...names: readonly string[]): Promise<readonly RunningPod[]> {
    return Promise.all(
      names.map((name) =>
        this.until<RunningPod>(
          { apiVersion: 'v1', kind: 'Pod', name },
          'to run',
          ({ status }) =>
            status?.phase === 'Running' &&
            'containerStatuses' in status &&
            Array.isArray(status.containerStatuses) &&
            status.containerStatuses.every((container: { readonly ready?: boolean }) => container.ready === true),
          120_000,
        ),
      ),
    );
  }

  /** Runs a program in a pod's first container, or in the named one. */
  exec(pod: string, argv: readonly string[], container?: string): Promise<string> {
    return this.cluster.exec(this.name, pod, argv, container === undefined ? {} : { container });
  }

  /** A pod's view of a listener volume. */
  tree(pod: string, volume: string, container?: string): Promise<TreeFiles> {
    return readTree((argv) => this.exec(pod, argv, container), mountPath(volume));
  }

  /** Waits, inside the pod, until a file of a listener volume holds a text. */
  async untilFile(pod: string, volume: string, path: string, text: string): Promise<void> {
    await this.exec(pod, untilFile(`${mountPath(volume)}/${path}`, text));
  }

  async events(about: { readonly kind: string; readonly name: string }): Promise<readonly Event[]> {
    const selector = `involvedObject.kind=${about.kind},involvedObject.name=${about.name}`;
    const { items } = await this.cluster.api.get<{ readonly items: readonly Event[] }>(
      `${collectionOf('v1', 'Event', this.name)}?fieldSelector=${encodeURIComponent(selector)}`,
    );
    return items;
  }

  /** Waits for an event about an object whose message matches, and returns it. */
  async event(about: { readonly kind: string; readonly name: string }, message: RegExp, timeoutMs = 60_000): Promise<Event> {
    return eventually<Event>(
      `an event about ${about.kind} ${this.name}/${about.name} that says ${message}`,
      async () => {
        const events = await this.events(about);
        const found = events.find((event) => message.test(event.message));
        if (found === undefined)
          throw new Error(`there are: ${events.map((event) => `${event.reason}: ${event.message}`).join(' | ') || 'none'}`);
        return found;
      },
      { timeoutMs },
    );
  }

  /** Does not wait until it is empty: nothing of it concerns the next test. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.api.remove(`/api/v1/namespaces/${this.name}`);
    await Promise.all(this.#classes.map((name) => this.remove(API, 'ListenerClass', name)));
  }

  async #existing<T extends KubeObject>(apiVersion: string, kind: string, name: string): Promise<T> {
    return this.cluster.api.get<T>(`${collectionOf(apiVersion, kind, this.name)}/${name}`);
  }
}

const freshName = (purpose: string): string => `e2e-${purpose}-${randomBytes(3).toString('hex')}`;

export function conditionOf({ status }: Listener, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
