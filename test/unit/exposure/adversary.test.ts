/** Something that changes back whatever the controller writes, at once. */
import assert from 'node:assert/strict';
import { describe, mock, test, type TestContext } from 'node:test';
import { listenerClasses, listeners, podListeners } from '../../../src/api/listeners/index.ts';
import { DRIVER_NAME, LISTENER_CLASS_ANNOTATION, TOPOLOGY_KEY } from '../../../src/api/listeners/names.ts';
import { keyOf } from '../../../src/kube/key.ts';
import type { KubeObject, PersistentVolume } from '../../../src/kube/objects.ts';
import {
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
  storageClasses,
  type Resource,
} from '../../../src/kube/resource.ts';
import { aClass, aListener, aNode } from './listeners/fixtures.ts';
import { mounted } from './support/objects.ts';
import { PlayedApi } from './support/played-api.ts';
import { playController, type PlayedController } from './support/played-controller.ts';

const MINUTE = 60_000;
const STEP = 250;
const MOST_A_MINUTE = 6;

/** A pod that mounts a Listener, one that mounts a class, a claim that is not bound yet, and a volume to delete. */
function world(): PlayedApi {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'NodePort' }));
  api.put(listeners, aListener());
  const node = aNode('n1', [{ type: 'InternalIP', address: '192.168.0.1' }]);
  api.put(nodes, { ...node, metadata: { ...node.metadata, labels: { [TOPOLOGY_KEY]: 'n1' } } });
  api.put(storageClasses, { metadata: { name: DRIVER_NAME }, provisioner: DRIVER_NAME, volumeBindingMode: 'WaitForFirstConsumer' });
  for (const name of ['web-0', 'own-0']) {
    const { pod, claim, volume, request } = mounted(name);
    api.put(pods, { ...pod, spec: { ...pod.spec, containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 80 }] }] } });
    api.put(persistentVolumeClaims, claim);
    api.put(persistentVolumes, name === 'own-0' ? ofClass(volume) : volume);
    api.put(podListeners, request);
  }
  const unbound = {
    metadata: {
      name: 'unbound',
      namespace: 'shop',
      annotations: { [LISTENER_CLASS_ANNOTATION]: 'some-class', 'volume.kubernetes.io/selected-node': 'n1' },
    },
    spec: { storageClassName: DRIVER_NAME },
  };
  api.put(persistentVolumeClaims, unbound);
  const released = mounted('old').volume;
  api.put(persistentVolumes, {
    ...released,
    spec: { ...released.spec, persistentVolumeReclaimPolicy: 'Delete' },
    status: { phase: 'Released' },
  });
  return api;
}

function ofClass({ metadata, spec }: PersistentVolume): PersistentVolume {
  const csi = {
    driver: DRIVER_NAME,
    volumeHandle: spec?.csi?.volumeHandle ?? '',
    volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: 'some-class' },
  };
  return { metadata, spec: { ...spec, csi } };
}

const kinds: Readonly<Record<string, Resource>> = {
  services,
  listeners,
  podlisteners: podListeners,
  pods,
  persistentvolumes: persistentVolumes,
  persistentvolumeclaims: persistentVolumeClaims,
};

/** Reverts each write to one of these kinds. @returns the times of the writes of each object */
function fight(api: PlayedApi, plurals: readonly string[], clock: () => number): ReadonlyMap<string, number[]> {
  const writes = new Map<string, number[]>();
  api.meets = ({ verb, plural }) => {
    const of = kinds[plural];
    if (verb === 'get' || of === undefined || !plurals.includes(plural)) return;
    const key = api.calls.at(-1)?.split(' ')[2] ?? '';
    const before: KubeObject | undefined = api.read(of, key);
    const id = `${plural} ${key}`;
    writes.set(id, [...(writes.get(id) ?? []), clock()]);
    setImmediate(() => (before === undefined ? api.remove(of, key) : api.put(of, before)));
  };
  return writes;
}

function playTime(t: TestContext): {
  readonly clock: () => number;
  readonly pass: (milliseconds: number, controller: PlayedController) => Promise<void>;
} {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let now = 0;
  return {
    clock: () => now,
    async pass(milliseconds, controller) {
      for (const end = now + milliseconds; now < end; now += STEP) {
        mock.timers.tick(STEP);
        await controller.settle();
      }
    },
  };
}

function mostInAMinute(times: readonly number[]): number {
  const later = times.filter((at) => at >= MINUTE);
  return Math.max(0, ...later.map((from) => later.filter((at) => at >= from && at < from + MINUTE).length));
}

describe('whatever changes back each write to', () => {
  for (const plurals of [...Object.keys(kinds).map((plural) => [plural]), Object.keys(kinds)]) {
    test(`${plurals.join(', ')}: meets at most ${MOST_A_MINUTE} writes of an object in any minute but the first, and is reported`, async (t) => {
      const time = playTime(t);
      const api = world();
      const writes = fight(api, plurals, time.clock);
      await using controller = await playController(api, { provisions: true, clock: time.clock });
      await time.pass(6 * MINUTE, controller);
      assert.ok(writes.size > 0, 'nothing was written');
      for (const [id, times] of writes)
        assert.ok(mostInAMinute(times) <= MOST_A_MINUTE, `${id}: ${mostInAMinute(times)} writes in a minute`);
      // Some of what was changed back is written again only when a pod starts, and where all is, an object may be another each time.
      const contested = [...writes].filter(([, times]) => times.length > 8 && plurals.length === 1).map(([id]) => id.split(' ')[1] ?? '');
      const notes = controller.events.filter((event) => event.startsWith('ObjectContested: '));
      for (const key of contested)
        assert.ok(
          notes.some((note) => note.includes(` ${key} is reverted by `)),
          `${key}: ${notes.join('; ')}`,
        );
    });
  }

  test('the reasons why two volumes of a pod wait, one after the other: meets few writes', async (t) => {
    const time = playTime(t);
    const api = world();
    const { request } = mounted('web-0');
    const missing = ['missing-1', 'missing-2'] as const;
    api.put(podListeners, { ...request, spec: { ...request.spec, mounts: { [missing[0]]: {}, [missing[1]]: {} } } });
    const times: number[] = [];
    api.meets = ({ verb, plural }) => {
      const key = keyOf(request);
      if (verb === 'get' || plural !== 'podlisteners' || api.calls.at(-1)?.includes(key) !== true) return;
      const removed = missing[times.length % 2] ?? '';
      times.push(time.clock());
      setImmediate(() => {
        const object = api.read(podListeners, key) ?? assert.fail();
        const mounts = Object.entries(object.status?.mounts ?? {}).filter(([handle]) => handle !== removed);
        api.put(podListeners, { ...object, status: { ...object.status, mounts: Object.fromEntries(mounts) } });
      });
    };
    await using controller = await playController(api, { clock: time.clock });
    await time.pass(4 * MINUTE, controller);
    assert.ok(times.length > 3, `${times.length} writes`);
    assert.ok(mostInAMinute(times) <= MOST_A_MINUTE, `${mostInAMinute(times)} writes in a minute`);
  });

  test('a Service: is named with its manager and field in the Listener until it ends, and the Service is right again', async (t) => {
    const time = playTime(t);
    const api = world();
    await using controller = await playController(api, { clock: time.clock });
    await controller.settle();
    const right = api.read(services, 'shop/web');
    assert.ok(right !== undefined);
    const managedFields = [
      { manager: 'earshot', time: '2030-01-01T00:00:00Z', fieldsV1: { 'f:spec': { 'f:type': {} } } },
      { manager: 'other-operator', time: '2030-01-01T00:00:01Z', fieldsV1: { 'f:spec': { 'f:type': {} } } },
    ];
    const wrong = { ...right, metadata: { ...right.metadata, managedFields }, spec: { ...right.spec, type: 'ClusterIP' } };
    const until = time.clock() + 2 * MINUTE;
    api.meets = ({ verb, plural }) => {
      if (verb === 'patch' && plural === 'services' && time.clock() < until) setImmediate(() => api.put(services, wrong));
    };
    api.put(services, wrong);
    await time.pass(MINUTE, controller);
    const messageOf = (): string => api.read(listeners, 'shop/web')?.status?.conditions?.[0]?.message ?? '';
    assert.match(messageOf(), /^Service shop\/web is reverted by "other-operator" \(spec\.type\)\./);
    await time.pass(6 * MINUTE, controller);
    assert.equal(api.read(services, 'shop/web')?.spec?.type, 'NodePort');
    assert.equal(messageOf(), 'The ListenerClass and the Listener fit together.');
    const before = api.writes.length;
    await time.pass(10 * MINUTE, controller);
    assert.equal(api.writes.length, before);
  });
});

test('a write that is new each time is never delayed, in whatever order the API server gives fields back', async (t) => {
  const time = playTime(t);
  const api = world();
  api.prunes = (_of, object) => reversed(object) as typeof object; // The same in another order.
  await using controller = await playController(api, { clock: time.clock });
  await controller.settle();
  for (let port = 8_000; port < 8_020; port++) {
    const listener = api.read(listeners, 'shop/web');
    assert.ok(listener !== undefined);
    const generation = port;
    const ports = [
      { name: 'http', port },
      { name: 'admin', port: 9_000 },
    ];
    api.put(listeners, { ...listener, metadata: { ...listener.metadata, generation }, spec: { ...listener.spec, ports } });
    await controller.settle();
    assert.ok(api.read(services, keyOf(listener))?.spec?.ports?.some((each) => each.port === port));
    assert.equal(api.read(listeners, keyOf(listener))?.status?.observedGeneration, generation);
  }
});

test('the first write of an object that was created again is never delayed', async (t) => {
  const time = playTime(t);
  const api = world();
  await using controller = await playController(api, { clock: time.clock });
  await controller.settle();
  for (let turn = 0; turn < 12; turn++) {
    const { status, ...listener } = api.read(listeners, 'shop/web') ?? aListener();
    assert.ok(status !== undefined, `Listener ${turn} has its status`);
    api.remove(listeners, 'shop/web');
    await controller.settle();
    api.put(listeners, { ...listener, metadata: { ...listener.metadata, uid: `web-${turn}` } });
    await controller.settle();
  }
  assert.notEqual(api.read(listeners, 'shop/web')?.status, undefined);
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, field]) => [key, reversed(field)]));
}
