/** Each object in which the state of a mounted volume lies × deleted, an older copy, truncated, unreadable, while the rest stays. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listenerClasses, listeners, podListeners, type PodListeners } from '../../../src/api/listeners/index.ts';
import { isBound } from '../../../src/exposure/cluster/claims.ts';
import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod, StringMap } from '../../../src/kube/objects.ts';
import {
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
  storageClasses,
  type Resource,
} from '../../../src/kube/resource.ts';
import { aClass } from './listeners/fixtures.ts';
import { aClaim, aDriverNode, aStorageClass } from './provision/objects.ts';
import { mounted } from './support/objects.ts';
import { PlayedApi } from './support/played-api.ts';
import { playController, type PlayedController } from './support/played-controller.ts';

const CLAIM = 'shop/data-web-0';
const VOLUME = 'pvc-c1';
const REQUEST = 'shop/pod-uid-of-web-0';

const pod: Pod = {
  ...mounted('web-0').pod,
  spec: { ...mounted('web-0').pod.spec, containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 80 }] }] },
};

const request: PodListeners = { ...mounted('web-0').request, spec: { ...mounted('web-0').request.spec, mounts: { [VOLUME]: {} } } };

async function settle(api: PlayedApi, act: (controller: PlayedController) => void = () => {}): Promise<readonly string[]> {
  await using controller = await playController(api, { provisions: true });
  await controller.settle();
  act(controller);
  await controller.settle();
  return controller.events;
}

/** Each object as it was first stored, and a cluster in which the pod runs and has its address. */
async function world(): Promise<{ readonly first: ReadonlyMap<string, KubeObject>; readonly api: PlayedApi }> {
  const api = new PlayedApi();
  const first = new Map<string, KubeObject>();
  api.meets = ({ verb, plural, object }) => {
    if (verb === 'create' && !first.has(plural)) first.set(plural, object as KubeObject);
  };
  api.put(listenerClasses, aClass({ serviceType: 'NodePort', pinnedNodePorts: true }));
  api.put(storageClasses, aStorageClass());
  api.put(nodes, aDriverNode('n1'));
  api.put(pods, { ...pod, status: { phase: 'Pending' } });
  first.set('persistentvolumeclaims', api.put(persistentVolumeClaims, aClaim()));
  first.set('podlisteners', request);
  await settle(api, () => {
    const volume = api.read(persistentVolumes, VOLUME);
    assert.ok(volume !== undefined);
    api.put(persistentVolumes, { ...volume, status: { phase: 'Bound' } });
  });
  await settle(api, () => {
    if (api.read(podListeners, REQUEST) === undefined) api.put(podListeners, request);
  });
  api.put(pods, { ...pod, status: { phase: 'Running' } });
  await settle(api);
  api.meets = () => undefined;
  return { first, api };
}

const damages = ['deleted', 'older', 'truncated', 'unreadable'] as const;
type Damage = (typeof damages)[number];

const half = (text: string): string => text.slice(0, text.length / 2);

function spoilTexts(texts: StringMap | undefined, how: Damage): StringMap {
  if (how === 'deleted') return {};
  return Object.fromEntries(Object.entries(texts ?? {}).map(([key, text]) => [key, how === 'truncated' ? half(text) : '\u0000 nonsense']));
}

/** A part of an object that can be lost while the object stays. */
interface State {
  readonly name: string;
  readonly of: Resource;
  readonly key: string;
  readonly spoil: (object: KubeObject, how: Damage) => KubeObject | undefined;
}

const withMetadata = (object: KubeObject, how: Damage): KubeObject => {
  const { annotations, labels, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, annotations: spoilTexts(annotations, how), labels: spoilTexts(labels, how) } };
};

const states: readonly State[] = [
  { name: 'the annotations of a claim', of: persistentVolumeClaims, key: CLAIM, spoil: withMetadata },
  {
    name: 'the binding of a claim',
    of: persistentVolumeClaims,
    key: CLAIM,
    spoil: (object, how) => {
      const { volumeName = '', ...spec } = (object as PersistentVolumeClaim).spec ?? {};
      const { status: _status, ...rest } = withMetadata(object, how) as PersistentVolumeClaim;
      const damaged: PersistentVolumeClaim = {
        ...rest,
        spec: how === 'deleted' ? spec : { ...spec, volumeName },
        status: { phase: 'Pending' },
      };
      return damaged;
    },
  },
  { name: 'labels and annotations of a volume', of: persistentVolumes, key: VOLUME, spoil: withMetadata },
  {
    name: 'the phase of a volume',
    of: persistentVolumes,
    key: VOLUME,
    spoil: (object, how) => {
      const { status: _status, ...volume } = object as PersistentVolume;
      const damaged: PersistentVolume =
        how === 'deleted' ? volume : { ...volume, status: { phase: how === 'truncated' ? 'Boun' : 'nonsense' } };
      return damaged;
    },
  },
  { name: 'PodListeners', of: podListeners, key: REQUEST, spoil: (object, how) => spoilRequest(object as PodListeners, how) },
];

function spoilRequest(object: PodListeners, how: Damage): KubeObject | undefined {
  if (how === 'deleted') return undefined;
  const entries = Object.entries(object.spec.listeners).map(([name, entry]) => [
    name,
    how === 'truncated' ? { ...entry, ingressAddresses: [] } : { ...entry, ingressAddresses: 'nonsense', listenerUid: 7 },
  ]);
  const damaged: PodListeners = {
    ...object,
    spec: { ...object.spec, listeners: Object.fromEntries(entries) as PodListeners['spec']['listeners'] },
  };
  return damaged;
}

const entriesIn = (api: PlayedApi): unknown => api.read(podListeners, REQUEST)?.spec.listeners;
const objectsOf = (api: PlayedApi, plural: string): readonly string[] =>
  [...api.objects.keys()].filter((id) => id.startsWith(`${plural} `));

describe('State of a mounted volume that is lost', () => {
  for (const { name, of, key, spoil } of states) {
    for (const how of damages) {
      for (const isRestarted of [false, true]) {
        test(`does not move the pod's address: ${name} ${how}${isRestarted ? ', while the controller was stopped' : ''}`, async () => {
          const { first, api } = await world();
          const entries = entriesIn(api);
          assert.ok(JSON.stringify(entries).includes('192.168.0.1'), JSON.stringify(entries));
          const serviceBefore = api.read(services, CLAIM);
          const listenerBefore = api.read(listeners, CLAIM);
          assert.ok(serviceBefore !== undefined && listenerBefore !== undefined);
          const damage = (): void => {
            const object = api.read(of, key);
            assert.ok(object !== undefined);
            const older = first.get(of.plural);
            const damaged =
              how === 'older' && older !== undefined
                ? { ...older, metadata: { ...older.metadata, uid: object.metadata.uid ?? '' } }
                : spoil(object, how);
            if (damaged === undefined) api.remove(of, key);
            else api.put(of, damaged);
          };
          const calls = api.calls.length;
          if (isRestarted) damage();
          await settle(api, () => {
            if (!isRestarted) damage();
          });
          // kube-controller-manager writes the phase of a volume again, and the node asks again.
          const volume = api.read(persistentVolumes, VOLUME);
          assert.ok(volume !== undefined);
          if (volume.status?.phase !== 'Bound') api.put(persistentVolumes, { ...volume, status: { phase: 'Bound' } });
          if (api.read(podListeners, REQUEST) === undefined) api.put(podListeners, request);
          await settle(api);
          const written = api.calls.slice(calls).filter((call) => /^(delete|create) /.test(call));
          assert.deepEqual(written, []);
          assert.deepEqual(objectsOf(api, 'persistentvolumes'), [`persistentvolumes ${VOLUME}`]);
          assert.equal(api.read(listeners, CLAIM)?.metadata.uid, listenerBefore.metadata.uid);
          assert.deepEqual(api.read(services, CLAIM)?.spec?.ports, serviceBefore.spec?.ports);
          assert.deepEqual(entriesIn(api), entries);
          const claim = api.read(persistentVolumeClaims, CLAIM);
          assert.ok(claim !== undefined);
          assert.ok(isBound(claim), JSON.stringify(claim));
          assert.equal(claim.spec?.volumeName, VOLUME);
        });
      }
    }
  }
});
