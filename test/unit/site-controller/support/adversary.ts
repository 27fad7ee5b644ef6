/** A controller of sites on an API server in memory, on which something else reverts what the controller writes. */
import { annotation } from '../../../../src/api/skupper/cluster-names.ts';
import { skupperResources } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import { NamespaceReconciler } from '../../../../src/site-controller/namespace-reconciler.ts';
import type { DeleteOptions, Key, PatchOptions } from '../../../../src/kube/contract.ts';
import { keyString } from '../../../../src/kube/key.ts';
import type { ConfigMap, KubeObject } from '../../../../src/kube/objects.ts';
import { configMaps, type Resource } from '../../../../src/kube/resource.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { PlayedApi } from '../../exposure/support/played-api.ts';
import { playedCluster } from './played-cluster.ts';
import { settings } from './view.ts';

export type Revert = 'restores' | 'deletes' | 'edits';

/** An API server on which something else reverts each write of the controller to some objects at once. */
export class AdversaryApi extends PlayedApi {
  /** Times of the controller's writes, by kind and key. */
  readonly written = new Map<string, number[]>();
  now = 0;
  reverts: Revert | undefined;
  isMeant: (id: string) => boolean = () => true;

  override create<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    return this.#meet(of, keyString(keyOf(object)), () => super.create(of, object));
  }

  override apply<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    return this.#meet(of, keyString(keyOf(object)), () => super.apply(of, object));
  }

  override patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T> {
    return this.#meet(of, keyString(key), () => super.patch<T>(of, key, patch, options));
  }

  override delete(of: Resource, key: Key, options?: DeleteOptions): Promise<void> {
    return this.#meet(of, keyString(key), () => super.delete(of, key, options));
  }

  async #meet<R>(of: Resource, key: string, write: () => Promise<R>): Promise<R> {
    const before = this.read(of, key);
    const answer = await write();
    const id = `${of.plural} ${key}`;
    this.written.getOrInsert(id, []).push(this.now);
    if (this.reverts === undefined || !this.isMeant(id)) return answer;
    const after = this.read(of, key);
    if (after === undefined) {
      if (before !== undefined) this.put(of, before);
    } else if (this.reverts === 'deletes' || before === undefined) this.remove(of, key);
    else
      this.put(
        of,
        this.reverts === 'edits' ? edited(after) : { ...before, metadata: { ...before.metadata, uid: after.metadata.uid ?? '' } },
      );
    return answer;
  }
}

const keyOf = ({ metadata: { namespace, name = '' } }: KubeObject): Key => ({ ...(namespace === undefined ? {} : { namespace }), name });

/** Without the controller's mark, without labels, and with each part empty. Of a person's own resource only the status is changed. */
export function edited(object: KubeObject): KubeObject {
  const { metadata, ...rest } = object;
  if (isPersons(object)) return { ...object, status: {} } as KubeObject;
  const parts = Object.entries(rest).map(([key, value]) => [key, typeof value === 'object' ? {} : value]);
  const { [annotation.applied]: _, ...annotations } = metadata.annotations ?? {};
  return { ...Object.fromEntries(parts), metadata: { ...metadata, labels: {}, annotations } } as KubeObject;
}

const isPersons = ({ metadata: { uid } }: KubeObject): boolean => OBJECTS.some(({ metadata }) => metadata.uid === uid);

const resource = (kind: string, name: string, spec: object): KubeObject =>
  ({ apiVersion: API_VERSION, kind, metadata: { namespace: 'west', name, uid: `uid-${kind}-${name}` }, spec }) as KubeObject;

/** Some of everything. */
export const OBJECTS: readonly KubeObject[] = [
  resource('Site', 'west', { linkAccess: 'local', ha: true }),
  resource('Listener', 'web', { routingKey: 'web', host: 'web', port: 80 }),
  resource('Listener', 'db', { routingKey: 'db', host: 'db', port: 5432 }),
  resource('Connector', 'web', { routingKey: 'web', selector: 'app=web', port: 80 }),
  resource('RouterAccess', 'more', {
    accessType: 'local',
    generateTlsCredentials: true,
    tlsCredentials: 'more',
    roles: [{ name: 'inter-router', port: 4444 }],
  }),
  resource('SecuredAccess', 'own', {
    accessType: 'local',
    issuer: 'skupper-site-ca',
    selector: { a: 'b' },
    ports: [{ name: 'x', port: 1, targetPort: 1, protocol: 'TCP' }],
  }),
  resource('Certificate', 'app', { ca: 'skupper-site-ca', subject: 'app', hosts: ['app'], server: true }),
  resource('AttachedConnectorBinding', 'far', { connectorNamespace: 'east', routingKey: 'far' }),
];

const TEMPLATE: ConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    namespace: 'west',
    name: 'template',
    labels: { 'skupper.io/label-template': '', 'example.com/team': 'a' },
    annotations: { 'example.com/note': 'b' },
  },
  data: {},
};

/** Milliseconds between two looks of the adversary. */
const STEP = 2_000;

export interface World extends AsyncDisposable {
  readonly api: AdversaryApi;
  readonly notes: Set<string>;
  /** Passes for so many seconds. */
  run(seconds: number): Promise<void>;
}

/** @param before puts objects there before the controller starts */
export async function world(before: (api: AdversaryApi) => void = () => {}): Promise<World> {
  const api = new AdversaryApi();
  before(api);
  const cluster = await playedCluster(api);
  const notes = new Set<string>();
  const keeper = new NamespaceReconciler({
    client: api,
    caches: cluster.caches,
    settings: { ...settings, grants: { ...settings.grants, enabled: false } },
    events: { record: ({ note }) => void notes.add(note), [Symbol.asyncDispose]: async () => {} },
    log: createLogger({ level: 'silent', component: 'test' }),
    now: () => new Date(api.now).toISOString(),
    wake: () => {},
    clock: () => api.now,
  });
  for (const object of OBJECTS) api.put(skupperResources[object.kind as keyof typeof skupperResources] as Resource, object);
  api.put(configMaps, TEMPLATE);
  const run = async (seconds: number): Promise<void> => {
    for (const end = api.now + seconds * 1_000; api.now < end; api.now += STEP) {
      // Each pass finds what was reverted by the one before.
      for (let passes = 0; passes < 3; passes += 1) await keeper.pass('west', cluster.signal).catch(() => undefined);
    }
  };
  await run(3);
  api.now += 3_600_000;
  const dispose = async (): Promise<void> => {
    await keeper[Symbol.asyncDispose]();
    cluster[Symbol.dispose]();
  };
  return { api, notes, run, [Symbol.asyncDispose]: dispose };
}
