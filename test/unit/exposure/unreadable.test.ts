/** Stored objects that today's definitions do not admit are not absent: nothing goes, moves or is created again because of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  listenerClasses,
  listeners,
  podListeners,
  type Listener,
  type ListenerClass,
  type PodListeners,
} from '../../../src/api/listeners/index.ts';
import { LISTENER_CLASS_ANNOTATION } from '../../../src/api/listeners/names.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../../src/kube/resource.ts';
import { aClass, aListener, aNode } from './listeners/fixtures.ts';
import { mounted, pinnedTo } from './support/objects.ts';
import { PlayedApi } from './support/played-api.ts';
import { playController } from './support/played-controller.ts';

/** Two Listeners with a pod each: one that a person made, and one of a volume. A class that releases addresses, and a node that is gone. */
async function settledWorld(): Promise<PlayedApi> {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'NodePort', nodeLossPolicy: 'Release', serviceAnnotations: { a: 'b' } }));
  api.put(listeners, aListener());
  api.put(nodes, aNode('n1', [{ type: 'InternalIP', address: '192.168.0.1' }]));
  for (const name of ['web-0', 'own-0']) {
    const { pod, claim, volume, request } = mounted(name);
    api.put(pods, { ...pod, spec: { ...pod.spec, containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 80 }] }] } });
    api.put(persistentVolumeClaims, claim);
    const csi = {
      driver: 'listeners.stackable.tech',
      volumeHandle: `pv-${name}`,
      volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: 'some-class' },
    };
    api.put(persistentVolumes, pinnedTo('n1', name === 'own-0' ? { ...volume, spec: { ...volume.spec, csi } } : volume));
    api.put(podListeners, request);
  }
  await using controller = await playController(api, { provisions: true });
  await controller.settle();
  return api;
}

/** A value of another type than the field has, or an invalid spec. */
const wrongClass = fc.oneof(
  fc.constantFrom(undefined, null, 'text', 7, []),
  fc
    .constantFrom('serviceType', 'serviceAnnotations', 'serviceOverrides', 'pinnedNodePorts', 'nodeLossPolicy', 'loadBalancerClass')
    .map((field) => ({ serviceType: 'NodePort', nodeLossPolicy: 'Release', [field]: 7 })),
);
const wrongListener = fc.oneof(
  fc.constantFrom(undefined, null, 'text', 7, []),
  fc
    .constantFrom('className', 'ports', 'extraPodSelectorLabels', 'objectOverrides', 'publishNotReadyAddresses')
    .map((field) => ({ className: 'some-class', ports: [{ name: 'http', port: 8080 }], [field]: 7 })),
  fc.constantFrom({ className: 'some-class', ports: [{ name: 7, port: 'http' }] }, { className: ['some-class'], ports: null }),
);

const kept = (api: PlayedApi): unknown =>
  ['services', 'persistentvolumes', 'persistentvolumeclaims', 'podlisteners', 'pods'].map((plural) =>
    [...api.objects].flatMap(([id, object]) => (id.startsWith(`${plural} `) ? [{ id, ...object, status: null }] : [])),
  );

describe('objects that cannot be read', () => {
  test('whichever they are, and whatever happens then: nothing is deleted, moved or created again', async () => {
    const before = await settledWorld();
    const scenario = fc.record({
      listenerClass: fc.option(wrongClass),
      web: fc.option(wrongListener),
      own: fc.option(wrongListener),
      status: fc.constantFrom(undefined, null, 7, { conditions: 'none' }, { ingressAddresses: 7 }),
      isRestarted: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ listenerClass, web, own, status, isRestarted }) => {
        const api = new PlayedApi();
        api.startFrom(before);
        const spoil = (): void => {
          if (listenerClass !== null)
            api.put(listenerClasses, { ...aClass({ serviceType: 'NodePort' }), spec: listenerClass } as unknown as ListenerClass);
          for (const [key, spec] of [
            ['shop/web', web],
            ['shop/data-own-0', own],
          ] as const) {
            const listener = api.read(listeners, key);
            assert.ok(listener !== undefined);
            if (spec !== null) api.put(listeners, { ...listener, spec, status: status ?? listener.status } as unknown as Listener);
          }
        };
        if (isRestarted) spoil();
        await using controller = await playController(api, { provisions: true });
        await controller.settle();
        if (!isRestarted) spoil();
        await controller.settle();
        const isSpoiled = listenerClass !== null || (web !== null && own !== null);
        // If a node goes and all can be read, the class releases the claims.
        if (isSpoiled) api.remove(nodes, 'n1');
        await controller.settle();
        assert.deepEqual(
          api.calls.filter((call) => call.startsWith('delete ')),
          [],
        );
        if (listenerClass !== null || web !== null || own !== null) assert.deepEqual(kept(api), kept(before));
        for (const [key, spec] of [
          ['shop/web', web],
          ['shop/data-own-0', own],
        ] as const) {
          const accepted = api.read(listeners, key)?.status?.conditions?.find(({ type }) => type === 'Accepted');
          if (spec === null && listenerClass === null) continue;
          assert.equal(accepted?.reason, 'Invalid');
          assert.match(
            accepted.message,
            /^(The Listener|ListenerClass some-class) .*does not match the current definitions: spec\b.* must be/,
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  for (const spec of [undefined, null, {}, { nodeName: 7, mounts: 7, listeners: 7 }, { nodeName: 'n1', listeners: { x: 7 }, mounts: [] }]) {
    test(`nothing is deleted for PodListeners whose spec is ${JSON.stringify(spec)}`, async () => {
      const api = await settledWorld();
      const [key = ''] = [...api.objects.keys()].flatMap((id) =>
        id.startsWith('podlisteners ') ? [id.slice('podlisteners '.length)] : [],
      );
      const object = api.read(podListeners, key);
      assert.ok(object !== undefined);
      const before = api.calls.length;
      await using controller = await playController(api, { provisions: true });
      await controller.settle();
      api.put(podListeners, { ...object, spec } as unknown as PodListeners);
      await controller.settle();
      assert.deepEqual(
        api.calls.slice(before).filter((call) => call.startsWith('delete ')),
        [],
      );
    });
  }

  test('a starting pod with one receives the object and field', async () => {
    const api = await settledWorld();
    const listener = api.read(listeners, 'shop/web');
    assert.ok(listener !== undefined);
    api.put(listeners, { ...listener, spec: { className: 7 }, status: {} } as unknown as Listener);
    await using controller = await playController(api, { provisions: true });
    await controller.settle();
    assert.ok(
      controller.events.some((event) => /^Invalid: The Listener .*spec\.className must be text/.test(event)),
      controller.events.join(),
    );
  });
});
