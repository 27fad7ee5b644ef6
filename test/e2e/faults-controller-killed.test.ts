/**
 * The controller is killed before and after each of its writes on the way from a pod with a listener volume to a pod that knows its
 * address. Whatever it had done by then, the next one completes, and nothing that was announced changes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Listener, PodListeners } from '../../src/api/listeners/index.ts';
import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Service } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { startControllerProcess, type ControllerProcess } from './support/controller-process.ts';
import { SYSTEM, withoutControllers } from './support/installation.ts';
import { API, byClass, claim, claimTemplate, pod } from './support/manifests.ts';
import { openNamespace, type Namespace, type RunningPod } from './support/namespace.ts';
import { expectedTree } from './support/tree.ts';
import { startWriteProxy, type Cut, type WriteProxy } from './support/write-proxy.ts';

const PORT = 8080;

describe('the controller killed between any two of its writes', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  const resources = new AsyncDisposableStack();
  let namespace: Namespace;
  let className: string;
  let proxy: WriteProxy;
  /** The same for writes about volumes and claims. */
  let bindingProxy: WriteProxy;
  let controller: ControllerProcess;
  /** What an undisturbed run leaves, and the writes it takes. */
  let undisturbed: Outcome;
  let writes: readonly string[];

  before(async () => {
    // Controllers come back last, when all else is gone.
    resources.use(await withoutControllers(cluster));
    namespace = resources.use(await openNamespace(cluster, 'killed'));
    className = await namespace.class('nodeport', { serviceType: 'NodePort' });
    const token = await cluster.token(SYSTEM, 'earshot-controller');
    proxy = resources.use(await startWriteProxy(cluster, { token, about: namespace.name }));
    bindingProxy = resources.use(await startWriteProxy(cluster, { token, about: '/persistentvolume' }));
    resources.defer(() => controller?.[Symbol.asyncDispose]());
    controller = await startControllerProcess(cluster, { server: proxy.url });
    proxy.arm();
    await expose('undisturbed');
    undisturbed = await outcome('undisturbed');
    writes = await settledWrites();
  });
  after(async () => {
    await resources.disposeAsync();
    await cluster.api.close();
  });

  it('does all of it undisturbed in seven writes', () => {
    assert.deepEqual([...writes].map(kindOf).sort(), [
      'PATCH listeners',
      'PATCH listeners/status',
      'PATCH listeners/status',
      'PATCH persistentvolumes',
      'PATCH podlisteners',
      'PATCH pods',
      'POST services',
    ]);
  });

  it('completes what it left undone, at the address that was announced', async (t) => {
    for (let at = 1; at <= writes.length; at += 1) {
      for (const when of ['before', 'after'] as const) {
        await t.test(`killed ${when} write ${at} of ${writes.length}`, () => killAt({ at, when }));
      }
    }
  });

  it('goes on with a volume that it was making, and with the binding of it', async (t) => {
    // kube-controller-manager may bind the claim first, and then there is no second or third write about it to be killed at.
    for (const at of [1, 2, 3]) {
      for (const when of ['before', 'after'] as const) await t.test(`killed ${when} write ${at}`, () => killWhileBinding({ at, when }));
    }
  });

  async function killWhileBinding(cut: Cut): Promise<void> {
    const name = `binding-${cut.when}-${cut.at}`;
    const { promise: killed, resolve } = Promise.withResolvers<void>();
    bindingProxy.arm(cut, () => {
      controller.kill();
      resolve();
    });
    await controller[Symbol.asyncDispose]();
    controller = await startControllerProcess(cluster, { server: bindingProxy.url });
    await namespace.create(claim(name, byClass(className)));
    await namespace.create(pod(name, { volumes: { address: name }, ports: [{ name: 'http', containerPort: PORT }] }));
    const bound = namespace.until<PersistentVolumeClaim>(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name },
      'to be bound',
      ({ status }) => status?.phase === 'Bound',
      120_000,
    );
    await Promise.race([killed, bound]);
    await controller[Symbol.asyncDispose]();
    bindingProxy.arm();
    controller = await startControllerProcess(cluster, { server: proxy.url });
    await bound;
    await namespace.running(name);
    const { metadata, spec } = await namespace.claim(name);
    assert.equal(spec?.volumeName, `pvc-${metadata.uid}`);
    const { items } = await cluster.api.get<{ readonly items: readonly PersistentVolume[] }>('/api/v1/persistentvolumes');
    assert.equal(items.filter((volume) => volume.spec?.claimRef?.uid === metadata.uid).length, 1, 'one volume');
    const told = await cluster.api.get<{ readonly items: readonly { readonly reason: string }[] }>(
      `/api/v1/namespaces/${namespace.name}/events?fieldSelector=involvedObject.name=${name}`,
    );
    assert.deepEqual(
      told.items.filter(({ reason }) => reason.startsWith('Claim')),
      [],
      'the claim was never marked as having lost its volume',
    );
  }

  async function killAt(cut: Cut): Promise<void> {
    const name = `${cut.when}-${cut.at}`;
    let isKilled = false;
    proxy.arm(cut, () => {
      controller.kill();
      isKilled = true;
    });
    const exposed = expose(name);
    await eventually('the controller to be killed', () => isKilled, { timeoutMs: 120_000, everyMs: 20 });
    await controller[Symbol.asyncDispose]();
    const announced = await announcedSoFar(name);
    proxy.arm();
    controller = await startControllerProcess(cluster, { server: proxy.url });
    await exposed;
    const left = await settledWrites();

    const { detail, ...summary } = await outcome(name);
    const { detail: _detail, ...expected } = undisturbed;
    assert.deepEqual(summary, expected);
    assert.deepEqual({ ...detail, ...announced }, detail, 'what was there when the controller was killed is what stayed');
    assert.ok(left.length <= writes.length, `the next controller wrote more than an undisturbed one: ${left.join(', ')}`);
  }

  /** A volume that is there already, so that what is counted is what a mount takes; then a pod mounts it. */
  async function expose(name: string): Promise<void> {
    const { metadata, spec } = claimTemplate(byClass(className), {}, name);
    const boundClaim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: { ...spec, volumeName: volumeNameOf(name) } };
    // The volume first: a claim that names a volume which is not there yet is looked at again only after 15 seconds.
    await namespace.create(volumeFor(name), boundClaim);
    await namespace.create(pod(name, { volumes: { address: name }, ports: [{ name: 'http', containerPort: PORT }] }));
    await namespace.running(name);
  }

  function volumeNameOf(name: string): string {
    return `${namespace.name}-${name}`;
  }

  function volumeFor(name: string): KubeObject {
    const manifest = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volumeNameOf(name), annotations: { 'pv.kubernetes.io/provisioned-by': 'listeners.stackable.tech' } },
      spec: {
        accessModes: ['ReadWriteMany'],
        capacity: { storage: '1' },
        storageClassName: 'listeners.stackable.tech',
        persistentVolumeReclaimPolicy: 'Delete',
        csi: { driver: 'listeners.stackable.tech', volumeHandle: volumeNameOf(name), volumeAttributes: byClass(className) },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: namespace.name, name },
      },
    };
    return manifest;
  }

  /** The writes so far, once no further one came for a while. */
  async function settledWrites(): Promise<readonly string[]> {
    let seen = -1;
    await eventually(
      'the controller to come to rest',
      () => {
        const rests = proxy.writes.length === seen;
        seen = proxy.writes.length;
        return rests;
      },
      { everyMs: 300 },
    );
    return proxy.writes;
  }

  /** Of the things that clients hold on to: those that exist. */
  async function announcedSoFar(name: string): Promise<Partial<Detail>> {
    const [listener, service, requests] = await Promise.all([
      namespace.get<Listener>(API, 'Listener', name),
      namespace.get<Service>('v1', 'Service', name),
      cluster.api.get<{ readonly items: readonly PodListeners[] }>(`/apis/${API}/namespaces/${namespace.name}/podlisteners`),
    ]);
    const nodePort = service?.spec?.ports?.[0]?.nodePort;
    const entry = requests.items.find(({ metadata }) => metadata.ownerReferences?.[0]?.name === name)?.spec.listeners['address'];
    return {
      ...(listener === undefined ? {} : { listenerUid: listener.metadata.uid ?? '' }),
      ...(service === undefined ? {} : { serviceUid: service.metadata.uid ?? '' }),
      ...(nodePort === undefined ? {} : { nodePort }),
      ...(entry === undefined ? {} : { addresses: JSON.stringify(entry.ingressAddresses) }),
    };
  }

  async function outcome(name: string): Promise<Outcome> {
    const [running] = await namespace.running(name);
    const listener = await namespace.ready(name);
    const [service, volume, requests, objects, tree] = await Promise.all([
      namespace.service(name),
      namespace.volumeOf(name),
      namespace.podListeners(name),
      countsFor(name),
      namespace.tree(name, 'address'),
    ]);
    const entry = requests.spec.listeners['address'];
    const { status } = listener;
    assert.ok(running !== undefined && entry !== undefined);
    assert.deepEqual(tree, expectedTree(entry.ingressAddresses ?? []));
    return {
      conditions: (status?.conditions ?? []).map(({ type, status: is, reason }) => `${type}=${is} ${reason}`),
      objects,
      owners: [ownedBy(listener, volume), ownedBy(service, listener), ownedBy(requests, running)],
      entries: Object.entries(requests.spec.listeners).map(([volumeName, { scope }]) => `${volumeName} ${scope}`),
      waiting: Object.keys(requests.status?.mounts ?? {}),
      isLabelled: isLabelled(running, volume, listener, service),
      isConsistent: isConsistent(listener, service, volume, requests),
      detail: {
        listenerUid: listener.metadata.uid ?? '',
        serviceUid: service.metadata.uid ?? '',
        nodePort: service.spec?.ports?.[0]?.nodePort ?? 0,
        addresses: JSON.stringify(entry.ingressAddresses),
      },
    };
  }

  /** How many objects of each kind there are because of this pod. */
  async function countsFor(name: string): Promise<Readonly<Record<string, number>>> {
    const count = async (path: string): Promise<number> => {
      const { items } = await cluster.api.get<{ readonly items: readonly KubeObject[] }>(path);
      const isOwned = ({ metadata }: KubeObject): boolean => (metadata.ownerReferences ?? []).some((owner) => owner.name === name);
      return items.filter((object) => object.metadata.name === name || isOwned(object)).length;
    };
    return {
      listeners: await count(`/apis/${API}/namespaces/${namespace.name}/listeners`),
      services: await count(`/api/v1/namespaces/${namespace.name}/services`),
      podListeners: await count(`/apis/${API}/namespaces/${namespace.name}/podlisteners`),
    };
  }
});

/** What must be the same however often the controller died. */
interface Outcome {
  readonly conditions: readonly string[];
  readonly objects: Readonly<Record<string, number>>;
  readonly owners: readonly boolean[];
  readonly entries: readonly string[];
  readonly waiting: readonly string[];
  readonly isLabelled: boolean;
  readonly isConsistent: boolean;
  readonly detail: Detail;
}

/** What differs from run to run, and must not change within one. */
interface Detail {
  readonly listenerUid: string;
  readonly serviceUid: string;
  readonly nodePort: number;
  readonly addresses: string;
}

function ownedBy(object: KubeObject, owner: KubeObject): boolean {
  return object.metadata.ownerReferences?.length === 1 && object.metadata.ownerReferences[0]?.uid === owner.metadata.uid;
}

/** The pod by what the Service selects, the volume by the Listener's name. */
function isLabelled(running: RunningPod, volume: PersistentVolume, listener: Listener, service: Service): boolean {
  const { name, namespace } = listener.metadata;
  const selects = Object.entries(service.spec?.selector ?? {});
  const labels = volume.metadata.labels ?? {};
  return (
    selects.length > 0 &&
    selects.every(([key, value]) => running.metadata.labels?.[key] === value) &&
    labels['listeners.stackable.tech/listener-namespace'] === namespace &&
    labels['listeners.stackable.tech/listener-name'] === name
  );
}

/** All objects with the port or the Listener agree on it. */
function isConsistent(listener: Listener, service: Service, volume: PersistentVolume, requests: PodListeners): boolean {
  const nodePort = service.spec?.ports?.[0]?.nodePort;
  const entry = requests.spec.listeners['address'];
  return (
    nodePort !== undefined &&
    listener.status?.nodePorts?.['http'] === nodePort &&
    (listener.status.ingressAddresses ?? []).length > 0 &&
    JSON.stringify(listener.status.ingressAddresses) === JSON.stringify(entry?.ingressAddresses) &&
    entry?.listenerUid === listener.metadata.uid &&
    entry?.volumeHandle === volume.spec?.csi?.volumeHandle
  );
}

/** `PATCH /api/v1/namespaces/x/pods/y` → `PATCH pods`. */
function kindOf(write: string): string {
  const [method = '', path = ''] = write.split(' ');
  const [plural = '', , subresource] = path
    .replace(/^\/apis?\/([^/]+\/)?v1[^/]*\//, '')
    .replace(/^namespaces\/[^/]+\//, '')
    .split('/');
  return subresource === undefined ? `${method} ${plural}` : `${method} ${plural}/${subresource}`;
}
