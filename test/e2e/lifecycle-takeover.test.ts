/**
 * A cluster on which an earlier system with these resources ran: its definitions, its volumes, its Listeners and its Services are
 * there, the system itself is not. Earshot is installed, and clients notice nothing.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Listener, PodListener, PodListeners } from '../../src/api/listeners/index.ts';
import type { KubeObject, PersistentVolume, Service } from '../../src/kube/objects.ts';
import { eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { installEarshot } from '../harness/install.ts';
import { earlierDefinitions } from '../unit/api/earlier-definitions.ts';
import { answerFromOutside } from './support/clients.ts';
import {
  API,
  byClass,
  byListener,
  claimTemplate,
  listener,
  listenerClass,
  pod,
  statefulSet,
  webServer,
  type ClaimAnnotations,
  type Manifest,
} from './support/manifests.ts';
import { Namespace, type RunningPod } from './support/namespace.ts';
import { listenerOf, untilCollected, VOLUME, whereabouts } from './support/replicas.ts';
import { untilFile } from './support/tree.ts';

const NAME = 'takeover-test';
const EARLIER = 'earlier-system';
const NODE_PORT = 31_234;
const PORT = 8080;
const EXTERNAL = '198.51.100.44';
const REPLICA = 'web-0';

describe('what an earlier system left', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  let namespace: Namespace;
  let node: { readonly name: string; readonly addresses: readonly string[] };
  /** As the earlier system left them. */
  let pinned: { readonly listener: Listener; readonly service: Service; readonly volume: PersistentVolume };
  let shared: { readonly listener: Listener; readonly service: Service };

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME });
    node = cluster.nodes[1] ?? assert.fail('the cluster has no second node');
    await applyAsEarlier({ apiVersion: 'v1', kind: 'List', items: earlierDefinitions() });
    await cluster.kubectl(['wait', '--for=condition=Established', 'crds', '--all', '--timeout=60s']);
    // Established, and yet it may be a moment until they are served.
    for (const kind of ['listenerclasses', 'listeners', 'podlisteners']) {
      await eventually(`${kind} to be served`, () => cluster.api.get(`/apis/${API}/${kind}`));
    }
    namespace = new Namespace(cluster, 'shop');
    await cluster.api.create('/api/v1/namespaces', { metadata: { name: namespace.name } });
    await namespace.create(
      listenerClass('stable', { serviceType: 'NodePort', pinnedNodePorts: true }),
      listenerClass('inside', { serviceType: 'ClusterIP', preferredAddressType: 'IP' }),
      statefulSet('web', 0, { [VOLUME]: byClass('stable') }, { ports: [{ name: 'http', containerPort: PORT }], script: webServer(PORT) }),
    );
    const name = listenerOf(REPLICA);
    const volume = await boundVolume(name, byClass('stable'), { listener: name, node: node.name });
    const owner = { apiVersion: 'v1', kind: 'PersistentVolume', name: volume.metadata.name, uid: volume.metadata.uid };
    const nodePortService = { type: 'NodePort', ports: [{ name: 'http', port: PORT, nodePort: NODE_PORT }] };
    pinned = { volume, ...(await exposed(name, 'stable', { ownerReferences: [owner] }, nodePortService)) };
    shared = await exposed('frontend', 'inside', {}, { type: 'ClusterIP', ports: [{ name: 'http', port: PORT }] });
    await boundVolume('frontend', byListener('frontend'), { listener: 'frontend' });

    await installEarshot(cluster);
  });
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it('is adopted: the same Listeners and Services, at the same addresses', async () => {
    for (const { listener: was, service } of [pinned, shared]) {
      const name = was.metadata.name ?? '';
      const now = await namespace.ready(name);
      const { metadata, spec } = await namespace.service(name);
      assert.equal(now.metadata.uid, was.metadata.uid);
      assert.equal(metadata.uid, service.metadata.uid);
      assert.equal(spec?.clusterIP, service.spec?.clusterIP);
      assert.deepEqual(spec?.ports, service.spec?.ports);
      assert.deepEqual(now.status?.ingressAddresses, was.status?.ingressAddresses);
    }
    assert.equal((await namespace.service(listenerOf(REPLICA))).spec?.ports?.[0]?.nodePort, NODE_PORT);
  });

  it('serves the pods that come back to it: on their node, at their port', async () => {
    await namespace.patch('apps/v1', 'StatefulSet', 'web', { spec: { replicas: 1 } });
    const { node: at, listenerUid, addresses } = await whereabouts(namespace, REPLICA);
    assert.equal(at, node.name);
    assert.equal(listenerUid, pinned.listener.metadata.uid);
    assert.deepEqual(addresses, [`${node.addresses[0]}:${NODE_PORT}`]);
    assert.equal(await answerFromOutside(cluster, node.addresses[0] ?? '', NODE_PORT), REPLICA);
  });

  it('is mounted by name too', async () => {
    await namespace.create(pod('client', { volumes: { frontend: 'frontend' } }));
    await namespace.running('client');
    const { spec } = await namespace.podListeners('client');
    assert.equal(spec.listeners['frontend']?.ingressAddresses?.[0]?.address, shared.service.spec?.clusterIP);
  });

  it('holds PodListeners that name no node: they are completed, and kept current from then on', async () => {
    const [running] = await namespace.running(REPLICA);
    const current = await namespace.podListeners(REPLICA);
    const { name = '' } = current.metadata;
    await namespace.remove(API, 'PodListeners', name);
    await namespace.create(earlierPodListeners(running, current));
    const untilEntry = (what: string, isWanted: (entry: PodListener | undefined) => boolean): Promise<PodListeners> =>
      namespace.until<PodListeners>({ apiVersion: API, kind: 'PodListeners', name }, what, ({ spec }) => isWanted(spec.listeners[VOLUME]));
    const complete = await untilEntry('to be completed', (entry) => entry?.volumeHandle !== undefined);
    assert.equal(complete.spec.nodeName, node.name);
    assert.deepEqual(Object.keys(complete.spec.mounts ?? {}), [pinned.volume.spec?.csi?.volumeHandle]);
    assert.deepEqual(complete.spec.listeners, current.spec.listeners);

    const internal = { type: 'InternalIP', address: node.addresses[0] ?? '' } as const;
    await cluster.setNodeAddresses(node.name, [internal, { type: 'ExternalIP', address: EXTERNAL }]);
    await untilEntry('to have the new address', (entry) => entry?.ingressAddresses?.[0]?.address === EXTERNAL);
    await namespace.exec(REPLICA, untilFile(`/listeners/${VOLUME}/default-address/address`, EXTERNAL));
    assert.equal(await answerFromOutside(cluster, EXTERNAL, NODE_PORT), REPLICA);
  });

  it('goes when its claim does, the whole chain', async () => {
    await namespace.remove('apps/v1', 'StatefulSet', 'web');
    await namespace.remove('v1', 'PersistentVolumeClaim', listenerOf(REPLICA));
    await untilCollected(cluster, namespace.name, { named: [listenerOf(REPLICA), pinned.volume.metadata.name ?? ''] });
    assert.equal((await namespace.service('frontend')).metadata.uid, shared.service.metadata.uid);
  });

  async function applyAsEarlier(manifest: object): Promise<void> {
    await cluster.kubectl(['apply', '--server-side', '--field-manager', EARLIER, '-f', '-'], { input: JSON.stringify(manifest) });
  }

  /** A claim and its volume, as the provisioner made them for the earlier system, which labelled the volume. */
  async function boundVolume(
    claim: string,
    annotations: ClaimAnnotations,
    of: { readonly listener: string; readonly node?: string },
  ): Promise<PersistentVolume> {
    const name = `pvc-${randomUUID()}`;
    const expression = { key: 'listeners.stackable.tech/hostname', operator: 'In', values: [of.node] };
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } };
    const volume = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: {
        name,
        annotations: { 'pv.kubernetes.io/provisioned-by': 'listeners.stackable.tech' },
        labels: { 'listeners.stackable.tech/listener-namespace': namespace.name, 'listeners.stackable.tech/listener-name': of.listener },
      },
      spec: {
        accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
        capacity: { storage: '1' },
        storageClassName: 'listeners.stackable.tech',
        persistentVolumeReclaimPolicy: 'Delete',
        csi: {
          driver: 'listeners.stackable.tech',
          volumeHandle: name,
          volumeAttributes: { ...annotations, 'storage.kubernetes.io/csiProvisionerIdentity': `1-2-${EARLIER}` },
        },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: namespace.name, name: claim },
        ...(of.node === undefined ? {} : { nodeAffinity }),
      },
    };
    const created = await namespace.create<PersistentVolume>(volume);
    const { metadata, spec } = claimTemplate(annotations, {}, claim);
    const wanted: Manifest = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: { ...spec, volumeName: name } };
    await namespace.create(wanted);
    return created;
  }

  /** A Listener with its Service and its status, written by another field manager. */
  async function exposed(
    name: string,
    className: string,
    metadata: object,
    spec: object,
  ): Promise<{ readonly listener: Listener; readonly service: Service }> {
    const ports = [{ name: 'http', port: PORT, protocol: 'TCP' }] as const;
    const created = await namespace.create<Listener>(listener(name, { className, ports, publishNotReadyAddresses: true }, metadata));
    const { uid = '' } = created.metadata;
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name,
        namespace: namespace.name,
        labels: { 'app.kubernetes.io/managed-by': EARLIER, 'app.kubernetes.io/name': 'listener' },
        ownerReferences: [{ apiVersion: API, kind: 'Listener', name, uid, controller: true }],
      },
      spec: { ...spec, selector: { [`listener.stackable.tech/mnt.${uid.replaceAll('-', '')}`]: name }, publishNotReadyAddresses: true },
    };
    await applyAsEarlier(service);
    const made = await namespace.service(name);
    const nodePort = made.spec?.ports?.[0]?.nodePort;
    const address = nodePort === undefined ? made.spec?.clusterIP : node.addresses[0];
    const status = {
      serviceName: name,
      ingressAddresses: [{ address, addressType: 'IP', ports: { http: nodePort ?? PORT } }],
      ...(nodePort === undefined ? {} : { nodePorts: { http: nodePort } }),
    };
    await cluster.api.patch(`/apis/${API}/namespaces/${namespace.name}/listeners/${name}/status`, { status });
    return { listener: (await namespace.get<Listener>(API, 'Listener', name)) ?? created, service: made };
  }

  /** Addresses and nothing else. */
  function earlierPodListeners(running: RunningPod | undefined, current: PodListeners): KubeObject {
    const { name = '', uid = '' } = running?.metadata ?? {};
    const { [VOLUME]: entry } = current.spec.listeners;
    const manifest = {
      apiVersion: API,
      kind: 'PodListeners',
      metadata: { name: current.metadata.name ?? '', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
      spec: { listeners: { [VOLUME]: { scope: entry?.scope, ingressAddresses: entry?.ingressAddresses } } },
    };
    return manifest;
  }
});
