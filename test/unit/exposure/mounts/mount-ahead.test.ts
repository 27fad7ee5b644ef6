import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listenerClasses, listeners, podListeners, type Listener } from '../../../../src/api/listeners/index.ts';
import { LISTENER_CLASS_ANNOTATION, podLabelOf } from '../../../../src/api/listeners/names.ts';
import { startClusterCaches, startPolicyCaches } from '../../../../src/exposure/cluster/caches.ts';
import { watchHandlers } from '../../../../src/exposure/watch-handlers.ts';
import type { Pod } from '../../../../src/kube/objects.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../../../src/kube/resource.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { aClass, aListener, aNode } from '../listeners/fixtures.ts';
import { mounted } from '../support/objects.ts';
import { PlayedApi } from '../support/played-api.ts';
import { playController } from '../support/played-controller.ts';

const KEY = 'shop/pod-uid-of-web-0';

function cluster(): PlayedApi {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'NodePort' }));
  api.put(nodes, aNode('n1', [{ type: 'InternalIP', address: '192.168.0.1' }]));
  return api;
}

/** A pod of a StatefulSet, its claim, and the claim's volume, for a Listener of its own. */
function classMount(
  changes: Partial<NonNullable<Pod['spec']>> = {},
): Pick<ReturnType<typeof mounted>, 'claim' | 'volume' | 'request'> & { readonly waiting: Pod; readonly placed: Pod } {
  const { pod, claim, volume, request } = mounted('web-0');
  const { nodeName = '', ...spec } = pod.spec ?? { containers: [] };
  const csi = {
    driver: 'listeners.stackable.tech',
    volumeHandle: 'pv-web-0',
    volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: 'some-class' },
  };
  const containers = [{ name: 'web', ports: [{ name: 'http', containerPort: 8080 }] }];
  const waiting = { ...pod, status: { phase: 'Pending' }, spec: { ...spec, containers, ...changes } };
  const placed = { ...waiting, spec: { ...waiting.spec, nodeName } };
  return { claim, request, volume: { ...volume, spec: { ...volume.spec, csi } }, waiting, placed };
}

const entriesOf = (api: PlayedApi): readonly string[] => Object.keys(api.read(podListeners, KEY)?.spec.listeners ?? {});

describe('a pod that mounts a volume is made ready before its node asks', () => {
  test('with its Listener and Service while it has no node, its labels and addresses once it has: six writes and one read', async () => {
    const api = cluster();
    const { claim, volume, waiting, placed, request } = classMount();
    await using controller = await playController(api);
    api.put(pods, waiting);
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, volume);
    await controller.settle();
    const early = ['apply listeners shop/data-web-0', 'create services shop/data-web-0', 'patch-status listeners shop/data-web-0'];
    assert.deepEqual(api.writes, early);
    api.put(pods, placed);
    await controller.settle();
    const late = ['patch persistentvolumes pv-web-0', 'patch pods shop/web-0', `create podlisteners ${KEY}`];
    assert.deepEqual(api.writes, [...early, ...late]);
    assert.deepEqual(
      api.calls.filter((call) => call.startsWith('get ')),
      ['get persistentvolumeclaims shop/data-web-0'],
    );
    const created = api.read(podListeners, KEY);
    assert.deepEqual(created?.metadata.ownerReferences, request.metadata.ownerReferences);
    assert.deepEqual(Object.keys(created?.spec.mounts ?? {}), ['pv-web-0']);
    assert.equal(created?.spec.nodeName, 'n1');
    assert.equal(created?.spec.listeners['listener']?.ingressAddresses?.[0]?.address, '192.168.0.1');
    const { name = '', uid = '' } = api.read(listeners, 'shop/data-web-0')?.metadata ?? {};
    const [label] = podLabelOf({ name, uid });
    assert.ok(label in (api.read(pods, 'shop/web-0')?.metadata.labels ?? {}));
    assert.deepEqual(
      controller.events.filter((event) => event.startsWith('AddressChanged')),
      [],
    );
  });

  for (const last of ['pods', 'claims', 'volumes'] as const) {
    test(`whatever comes last: ${last}`, async () => {
      const api = cluster();
      const { claim, volume, placed } = classMount();
      await using controller = await playController(api);
      const puts = {
        pods: () => void api.put(pods, placed),
        claims: () => void api.put(persistentVolumeClaims, claim),
        volumes: () => void api.put(persistentVolumes, volume),
      };
      for (const [what, put] of Object.entries(puts)) if (what !== last) put();
      if (last !== 'claims') await controller.settle();
      puts[last]();
      await controller.settle();
      assert.deepEqual(entriesOf(api), ['listener']);
    });
  }

  test('or when its node asks before the watch has reported the pod', async () => {
    const api = cluster();
    const { claim, volume, placed, request } = classMount();
    await using controller = await playController(api);
    api.hold(pods);
    api.put(pods, placed);
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, volume);
    await controller.settle();
    assert.deepEqual(api.writes, []);
    api.put(podListeners, request);
    await controller.settle();
    assert.deepEqual(entriesOf(api), ['listener']);
    const before = api.writes.length;
    api.release(pods);
    await controller.settle();
    assert.equal(api.writes.length, before);
  });

  test('and is answered where its node asks in that very moment', async () => {
    const api = cluster();
    const { claim, volume, placed, request } = classMount();
    api.meets = ({ verb, plural }) => {
      if (verb === 'create' && plural === 'podlisteners' && api.read(podListeners, KEY) === undefined) api.put(podListeners, request);
    };
    await using controller = await playController(api);
    api.put(pods, placed);
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, volume);
    await controller.settle();
    assert.deepEqual(entriesOf(api), ['listener']);
    assert.equal(api.writes.filter((call) => call === 'patch pods shop/web-0').length, 1);
  });

  test('and what was prepared of one that goes meanwhile is forgotten', async () => {
    const api = cluster();
    const { claim, volume, waiting, placed } = classMount();
    const { promise: gone, resolve: answer } = Promise.withResolvers<void>();
    api.meets = ({ verb, plural }) => (verb === 'apply' && plural === 'listeners' ? gone : undefined);
    await using controller = await playController(api);
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, volume);
    api.put(pods, waiting);
    await controller.settle();
    api.remove(pods, 'shop/web-0');
    answer();
    await controller.settle();
    const reads = (): number => api.calls.filter((call) => call.startsWith('get persistentvolumeclaims')).length;
    assert.equal(reads(), 1);
    api.put(pods, placed);
    await controller.settle();
    assert.deepEqual([reads(), entriesOf(api)], [2, ['listener']]);
  });

  test('and a request that goes while its pod is looked up vouches for no later one', async () => {
    const api = cluster();
    const { placed, request } = classMount();
    const { promise: gone, resolve: answer } = Promise.withResolvers<void>();
    api.meets = ({ verb, plural }) => (verb === 'get' && plural === 'pods' ? gone : undefined);
    await using controller = await playController(api);
    api.put(pods, { ...placed, status: { phase: 'Running' } });
    api.put(podListeners, request);
    await controller.settle();
    api.remove(podListeners, KEY);
    answer();
    await controller.settle();
    api.put(podListeners, { ...request, spec: { ...request.spec, nodeName: 'n2' } });
    await controller.settle();
    assert.ok(api.calls.includes(`delete podlisteners ${KEY}`));
  });

  test('the first address of a volume is no news, whatever the volume is called', async () => {
    const api = cluster();
    const { claim, volume, placed, request } = classMount();
    const volumes = (placed.spec?.volumes ?? []).map((each) => ({ ...each, name: 'constructor' }));
    await using controller = await playController(api);
    api.put(pods, { ...placed, spec: { containers: [], ...placed.spec, volumes }, status: { phase: 'Running' } });
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, volume);
    api.put(podListeners, request);
    await controller.settle();
    assert.deepEqual(entriesOf(api), ['constructor']);
    assert.deepEqual(
      controller.events.filter((event) => event.startsWith('AddressChanged')),
      [],
    );
  });

  const claimOf = (uid: string): Pod['metadata'] => ({
    name: 'web-0-listener',
    namespace: 'shop',
    uid: 'uid-of-claim',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid, controller: true }],
  });
  const toClaim = { namespace: 'shop', name: 'web-0-listener', uid: 'uid-of-claim' };
  const ephemeral = { volumes: [{ name: 'listener', ephemeral: {} }] };

  test('also for an ephemeral volume, whose claim belongs to the pod', async () => {
    const api = cluster();
    const { volume, placed } = classMount(ephemeral);
    await using controller = await playController(api);
    api.put(pods, placed);
    api.put(persistentVolumeClaims, { metadata: claimOf('uid-of-web-0') });
    api.put(persistentVolumes, { ...volume, spec: { ...volume.spec, claimRef: toClaim } });
    await controller.settle();
    assert.deepEqual(entriesOf(api), ['listener']);
  });

  const mount = classMount();
  for (const [what, pod, claim, volume] of [
    ['does not mount the claim', classMount({ volumes: [] }).placed, mount.claim, mount.volume],
    ['is going away', { ...mount.placed, metadata: { ...mount.placed.metadata, deletionTimestamp: 'now' } }, mount.claim, mount.volume],
    ['mounts a successor of the claim', mount.placed, { metadata: { ...mount.claim.metadata, uid: 'another' } }, mount.volume],
    [
      "has an ephemeral volume whose claim is another's",
      classMount(ephemeral).placed,
      { metadata: claimOf('another') },
      { ...mount.volume, spec: { ...mount.volume.spec, claimRef: toClaim } },
    ],
    ['runs already', { ...mount.placed, status: { phase: 'Running' } }, mount.claim, mount.volume],
  ] as const) {
    test(`but not one that ${what}`, async () => {
      const api = cluster();
      await using controller = await playController(api);
      api.put(pods, pod);
      api.put(persistentVolumeClaims, claim);
      api.put(persistentVolumes, volume);
      await controller.settle();
      assert.deepEqual(api.writes, []);
    });
  }

  test('and leaves a Listener that is there as it is until it has its node', async () => {
    const api = cluster();
    const { claim, volume, waiting, placed } = classMount();
    const own = [{ apiVersion: 'v1', kind: 'PersistentVolume', name: 'pv-web-0', uid: 'uid-of-pv-web-0' }];
    api.put(listeners, aListener({ ports: [{ name: 'old', port: 1 }] }, { name: 'data-web-0', ownerReferences: own }));
    await using controller = await playController(api);
    const ports = (): readonly string[] => (api.read(listeners, 'shop/data-web-0')?.spec.ports ?? []).map(({ name }) => name);
    api.put(pods, waiting);
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, volume);
    await controller.settle();
    assert.deepEqual(ports(), ['old']);
    api.put(pods, placed);
    await controller.settle();
    assert.deepEqual(ports(), ['http']);
  });
});

test('an event on the pod reports when its addresses change, and the new ones', async () => {
  const api = cluster();
  const { claim, volume, placed } = classMount();
  await using controller = await playController(api);
  api.put(pods, placed);
  api.put(persistentVolumeClaims, claim);
  api.put(persistentVolumes, volume);
  await controller.settle();
  api.put(nodes, aNode('n1', [{ type: 'InternalIP', address: '192.168.0.2' }]));
  await controller.settle();
  const told = controller.events.filter((event) => event.startsWith('AddressChanged'));
  assert.match(told.join('\n'), /^AddressChanged: Volume listener now says 192\.168\.0\.2 \(http \d+\)\.$/);
});

test('mounts of a Listener of 1,000 pods are not reconciled when its endpoints change, but all when its ports do', async () => {
  const api = cluster();
  const end = new AbortController();
  const shared = api.put(listeners, { ...aListener(), status: { nodePorts: { http: 30_080 } } });
  for (let number = 0; number < 1_000; number++) {
    const { volume, request } = mounted(`web-${number}`);
    api.put(persistentVolumes, volume);
    api.put(podListeners, request);
  }
  const caches = startClusterCaches(startInformer, api, startPolicyCaches(startInformer, api, end.signal), end.signal);
  await Promise.all(Object.values(caches).map((cache) => cache.synced));
  const woken = new Set<string>();
  const stop = watchHandlers(caches, undefined, {
    listener: () => undefined,
    volume: () => undefined,
    claim: () => undefined,
    released: () => undefined,
    waiting: () => undefined,
    labels: () => undefined,
    mount: (key) => void woken.add(key),
  });
  woken.clear();
  const status = (port: number, address: string): NonNullable<Listener['status']> => ({
    nodePorts: { http: port },
    ingressAddresses: [{ address, addressType: 'IP', ports: { http: port } }],
    conditions: [
      { type: 'Ready', status: 'True', reason: 'AddressesAssigned', message: `Reachable at ${address}.`, lastTransitionTime: '' },
    ],
  });
  for (let change = 1; change <= 50; change++) api.put(listeners, { ...shared, status: status(30_080, `192.168.0.${change}`) });
  assert.equal(woken.size, 0);
  api.put(listeners, { ...shared, status: status(30_081, '192.168.0.1') });
  assert.equal(woken.size, 1_000);
  stop();
  end.abort(new Error('the test is over'));
});
