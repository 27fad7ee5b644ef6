/** Controllers of sites on an API server in memory, in sequence or in parallel. Each can be killed at any write. */
import { isDeepStrictEqual } from 'node:util';
import { annotation, label, SITE_KEY_FILE } from '../../../../src/api/skupper/cluster-names.ts';
import { skupperResources } from '../../../../src/api/skupper/index.ts';
import { SiteCaches } from '../../../../src/site-controller/caches.ts';
import { keptObjects } from '../../../../src/site-controller/kept-objects.ts';
import { NamespaceReconciler } from '../../../../src/site-controller/namespace-reconciler.ts';
import type { ControllerSettings } from '../../../../src/site-controller/settings.ts';
import type { DeleteOptions, Key, KubeClient, PatchOptions, WatchOptions } from '../../../../src/kube/contract.ts';
import { keyOf } from '../../../../src/kube/key.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import type { Resource } from '../../../../src/kube/resource.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { PlayedApi } from '../../exposure/support/played-api.ts';
import { settings as common } from './view.ts';

export const KINDS: readonly Resource[] = [...Object.values(skupperResources), ...keptObjects.map(({ of }) => of)];

const settings: ControllerSettings = {
  ...common,
  access: { ...common.access, defaultType: 'local' },
  grants: { ...common.grants, enabled: false },
};

/** With a garbage collector that runs on request. */
export class SitesApi extends PlayedApi {
  override put<T extends KubeObject>(of: Resource<T>, object: T): T {
    const known = this.read(of, keyOf(object));
    // An update without a difference is neither a write nor an event.
    return known !== undefined && isDeepStrictEqual(plain(known), plain(object)) ? known : super.put(of, object);
  }

  /** Deletes objects whose owners are all gone, with their dependents. */
  collect(): void {
    for (let isDone = false; !isDone;) {
      const alive = new Set([...this.objects.values()].map(({ metadata }) => metadata.uid));
      isDone = true;
      for (const [id, { metadata }] of this.objects) {
        const owners = metadata.ownerReferences ?? [];
        if (owners.length === 0 || owners.some(({ uid }) => alive.has(uid))) continue;
        const [plural = '', key = ''] = id.split(' ');
        const of = KINDS.find((kind) => kind.plural === plural);
        if (of !== undefined) this.remove(of, key);
        isDone = false;
      }
    }
  }
}

function plain(object: KubeObject): unknown {
  const { resourceVersion: _version, uid: _uid, ...metadata } = object.metadata;
  return JSON.parse(JSON.stringify({ ...object, metadata }));
}

export class Killed extends Error {}

/** With which of its writes a process ends: the last is under way then, and lands later (`land`) or never. */
export type Death = number;

/** The client of one process. */
class MortalClient implements KubeClient {
  readonly #api: PlayedApi;
  readonly #death: Death | undefined;
  readonly #late = new Map<string, (() => void)[]>();
  #underWay: (() => Promise<unknown>) | undefined;
  #writes = 0;
  isDead = false;
  get = ((...of: Parameters<PlayedApi['get']>) => this.#live(() => this.#api.get(...of))) as KubeClient['get'];
  find = ((...of: Parameters<PlayedApi['find']>) => this.#live(() => this.#api.find(...of))) as KubeClient['find'];

  constructor(api: PlayedApi, death: Death | undefined) {
    this.#api = api;
    this.#death = death;
  }

  page: KubeClient['page'] = () => this.#api.page();
  list: KubeClient['list'] = () => this.#api.list();

  watch<T extends KubeObject>(of: Resource<T>, { onEvent, ...options }: WatchOptions<T>): Promise<void> {
    let isListed = false;
    return this.#api.watch<T>(of, {
      ...options,
      onEvent: (event) => {
        const late = isListed ? this.#late.get(of.plural) : undefined;
        isListed ||= event.type === 'BOOKMARK';
        if (late === undefined) onEvent(event);
        else late.push(() => onEvent(event));
      },
    });
  }

  /** The API server takes up what this one sent last, if it still stands. */
  async land(): Promise<void> {
    const send = this.#underWay;
    this.#underWay = undefined;
    await send?.().catch(() => undefined);
  }

  /** From now on its watches of a kind report only complete lists. */
  hold({ plural }: Resource): void {
    this.#late.set(plural, []);
  }

  /** They report all missed events, and continue. */
  release({ plural }: Resource): void {
    const events = this.#late.get(plural) ?? [];
    this.#late.delete(plural);
    for (const tell of events) tell();
  }

  create<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    return this.#write(() => this.#api.create(of, object));
  }

  apply<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    return this.#write(() => this.#api.apply(of, object));
  }

  patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T> {
    return this.#write(() => this.#api.patch(of, key, patch, options));
  }

  delete(of: Resource, key: Key, options?: DeleteOptions): Promise<void> {
    return this.#write(() => this.#api.delete(of, key, options));
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #live<R>(serve: () => Promise<R>): Promise<R> {
    if (this.isDead) throw new Killed('killed');
    return serve();
  }

  async #write<R>(send: () => Promise<R>): Promise<R> {
    if (this.isDead) throw new Killed('killed');
    if (++this.#writes !== this.#death) return send();
    this.isDead = true;
    this.#underWay = send;
    throw new Killed('killed');
  }
}

/** A namespace that never comes to rest is a fault. */
const MOST_PASSES = 60;

export class PlayedController implements AsyncDisposable {
  readonly #client: MortalClient;
  readonly #stop = new AbortController();
  readonly #due = new Set<string>();
  readonly caches: SiteCaches;
  readonly #keeper: NamespaceReconciler;
  passes = 0;

  private constructor(api: PlayedApi, death: Death | undefined, changed: Partial<ControllerSettings>) {
    const log = createLogger({ level: 'silent', component: 'test' });
    const { signal } = this.#stop;
    this.#client = new MortalClient(api, death);
    this.caches = new SiteCaches({ start: startInformer, client: this.#client, served: new Set(), signal });
    this.caches.onChange((_of, { object }) => this.#due.add(object.metadata.namespace ?? ''));
    this.#keeper = new NamespaceReconciler({
      client: this.#client,
      caches: this.caches,
      settings: { ...settings, ...changed },
      log,
      events: { record: () => {} } as unknown as ConstructorParameters<typeof NamespaceReconciler>[0]['events'],
      now: () => '2026-01-01T00:00:00Z',
      wake: (namespace) => this.#due.add(namespace),
    });
  }

  static async start(api: PlayedApi, death?: Death, changed: Partial<ControllerSettings> = {}): Promise<PlayedController> {
    const controller = new PlayedController(api, death, changed);
    await controller.caches.synced;
    return controller;
  }

  /** From now on it leads. */
  async lead(): Promise<void> {
    await this.caches.renew();
    for (const of of Object.values(skupperResources)) for (const namespace of this.caches.namespacesWith(of)) this.#due.add(namespace);
    this.#due.add(settings.namespace);
  }

  land(): Promise<void> {
    return this.#client.land();
  }

  hold(of: Resource): void {
    this.#client.hold(of);
  }

  release(of: Resource): void {
    this.#client.release(of);
  }

  get isDead(): boolean {
    return this.#client.isDead;
  }

  /** One pass over what is due. @returns whether anything was */
  async pass(): Promise<boolean> {
    const [namespace] = this.#due;
    if (namespace === undefined || this.isDead) return false;
    this.#due.delete(namespace);
    this.passes += 1;
    try {
      await this.#keeper.pass(namespace, this.#stop.signal);
    } catch (error) {
      if (!this.isDead) this.failures.push(error);
      // The redemption is retried.
      this.#due.add(namespace);
    }
    return true;
  }

  readonly failures: unknown[] = [];

  /** Until nothing is due, or it is dead. @throws where it does not come to rest */
  async settle(): Promise<void> {
    for (let passes = 0; await this.pass(); passes += 1) {
      if (passes > MOST_PASSES) throw new Error('it does not come to rest', { cause: this.failures.at(-1) });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#keeper[Symbol.asyncDispose]();
  }
}

/** All stored objects, without differences of uids, serial numbers and times. */
export function lookOf(api: PlayedApi): ReadonlyMap<string, unknown> {
  const names = new Map([...api.objects].map(([id, { metadata }]) => [metadata.uid ?? '', id] as const));
  const entries = [...api.objects].map(([id, object]) => {
    const { data, status, ...others } = object as KubeObject & { data?: Record<string, string>; status?: unknown };
    const { resourceVersion: _, uid: __, managedFields: ____, annotations = {}, ...metadata } = object.metadata;
    const { [annotation.applied]: ___, ...kept } = annotations;
    const keys = data === undefined ? {} : { data: Object.keys(data).sort() };
    const look = { ...others, metadata: { ...metadata, annotations: kept }, ...keys, status };
    const text = JSON.stringify(look, (key, value: unknown) => (key === 'expiration' ? undefined : value));
    const named = text.replace(/uid-\d+/g, (uid) => names.get(uid) ?? 'gone');
    return [id, JSON.parse(named) as unknown] as const;
  });
  return new Map(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** State that others already use, and must find unchanged: objects, ports behind Services, certificates. */
export function handedOut(api: PlayedApi): ReadonlyMap<string, unknown> {
  return new Map(
    [...api.objects].flatMap(([id, object]) => {
      const { data = {}, spec = {} } = object as KubeObject & {
        readonly data?: Readonly<Record<string, string>>;
        readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly targetPort?: unknown }[] };
      };
      const ofListener = id.startsWith('services ') && object.metadata.labels?.[label.listener] !== undefined;
      return [
        [id, object.metadata.uid] as const,
        ...['tls.crt', 'tls.key', SITE_KEY_FILE].flatMap((key) => (data[key] === undefined ? [] : [[`${id} ${key}`, data[key]] as const])),
        ...(ofListener ? (spec.ports ?? []) : []).map(({ name = '', targetPort }) => [`${id} port ${name}`, targetPort] as const),
      ];
    }),
  );
}
