import assert from 'node:assert/strict';
import { describe, mock, test, type TestContext } from 'node:test';

import {
  listenerClasses,
  listeners,
  podListeners,
  type ListenerClassSpec,
  type ListenerStatus,
  type PodListeners,
} from '../../../src/api/listeners/index.ts';
import { keyOf } from '../../../src/kube/key.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import {
  endpointSlices,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
  type Resource,
} from '../../../src/kube/resource.ts';
import type { EndpointSlice } from '../../../src/kube/objects.ts';
import { aClass, aListener, aNode, LISTENER_UID } from './listeners/fixtures.ts';
import { mounted, pinnedTo } from './support/objects.ts';
import { PlayedApi, refuse } from './support/played-api.ts';
import { playController, type PlayedController } from './support/played-controller.ts';

const addresses = [{ type: 'InternalIP', address: '192.168.0.1' }];

/** A NodePort class, a Listener `web` of it, a node and a pod that mounts the Listener there. */
function world(spec: Partial<ListenerClassSpec> = {}): PlayedApi {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'NodePort', ...spec }));
  api.put(listeners, aListener());
  api.put(nodes, aNode('n1', addresses));
  return api;
}

function ask(api: PlayedApi, name: string): string {
  const { pod, claim, volume, request } = mounted(name);
  api.put(pods, pod);
  api.put(persistentVolumeClaims, claim);
  api.put(persistentVolumes, volume);
  return keyOf(api.put(podListeners, request));
}

interface PlayedTime {
  readonly clock: () => number;
  readonly pass: (milliseconds: number, controller: PlayedController) => Promise<void>;
}

/** Time that passes only by `pass`. */
function playTime(t: TestContext): PlayedTime {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let now = 0;
  return {
    clock: () => now,
    async pass(milliseconds, controller) {
      const step = Math.min(milliseconds, Math.max(250, milliseconds / 100));
      await controller.settle();
      for (let passed = 0; passed < milliseconds; passed += step) {
        now += step;
        mock.timers.tick(step);
        await controller.settle();
      }
    },
  };
}

describe('what a reconcile wrote is no reason to reconcile', () => {
  /** Tries of a key by its backoff in 20 seconds (100 ms, doubled each time, up to half of it taken off), generously. */
  const MOST_TRIES = 12;

  for (const [order, when] of [
    ['before the answer', 'at once'],
    ['after the answer', 'later'],
    ['after the next write', 'a write later'],
  ] as const) {
    test(`a Service that is refused in other words each time is tried by the backoff, where events come ${order}`, async (t) => {
      const time = playTime(t);
      const api = world();
      let refusals = 0;
      api.meets = ({ verb, plural }) => {
        if (verb === 'create' && plural === 'services') refuse(422, 'Invalid', `provided port ${30_000 + ++refusals} is taken`);
      };
      await using controller = await playController(api);
      await controller.settle();
      for (let second = 0; second < 20; second++) {
        if (when !== 'at once') api.hold(listeners);
        await time.pass(1_000, controller);
        if (when === 'later' || second % 2 === 1) api.release(listeners);
      }
      const writes = api.writes.filter((call) => call === 'patch-status listeners shop/web').length;
      assert.ok(refusals > 3 && refusals <= MOST_TRIES, `${refusals} tries`);
      assert.ok(writes <= refusals, `${writes} writes of the status`);
    });
  }

  test('a mount that is refused in other words each time is tried by the backoff', async (t) => {
    const time = playTime(t);
    const api = world();
    let refusals = 0;
    api.meets = ({ verb, plural }) => {
      if (verb === 'patch' && plural === 'pods') refuse(422, 'Invalid', `number ${++refusals} is not allowed`);
    };
    await using controller = await playController(api);
    ask(api, 'web-0');
    await time.pass(20_000, controller);
    assert.ok(refusals > 3 && refusals <= MOST_TRIES, `${refusals} tries`);
  });

  test('a status that another client wrote is corrected at once', async () => {
    const api = world();
    await using controller = await playController(api);
    await controller.settle();
    const right = api.read(listeners, 'shop/web');
    assert.ok(right !== undefined);
    api.put(listeners, { ...right, status: { conditions: [] } });
    await controller.settle();
    const { conditions = [] } = api.read(listeners, 'shop/web')?.status ?? {};
    assert.deepEqual(
      conditions.map(({ reason }) => reason),
      right.status?.conditions?.map(({ reason }) => reason),
    );
  });

  test('a spec that changes with the own status between is looked at', async () => {
    const api = world();
    await using controller = await playController(api);
    api.hold(listeners);
    await controller.settle();
    const seen = api.read(listeners, 'shop/web');
    assert.ok(seen !== undefined);
    api.put(listeners, { ...seen, spec: { ...seen.spec, ports: [{ name: 'admin', port: 9000 }] } });
    api.release(listeners);
    await controller.settle();
    assert.deepEqual(
      api.read(services, 'shop/web')?.spec?.ports?.map(({ name }) => name),
      ['admin'],
    );
  });
});

describe('what a change wakes, without a timer', () => {
  test('a Listener without its class goes on saying which there are', async (t) => {
    const time = playTime(t);
    const api = world();
    api.put(listeners, aListener({ className: 'mistyped' }));
    await using controller = await playController(api, time);
    await time.pass(3_000, controller);
    const said = async (): Promise<string | undefined> => {
      await controller.settle();
      return api.read(listeners, 'shop/web')?.status?.conditions?.find(({ type }) => type === 'Accepted')?.message;
    };
    const known = 'some-class';
    assert.match((await said()) ?? '', new RegExp(`ListenerClasses: ${known}\\.$`));
    const another = { ...aClass({ serviceType: 'ClusterIP' }), metadata: { name: 'zz-another', uid: 'zz-another' } };
    api.put(listenerClasses, another);
    assert.match((await said()) ?? '', new RegExp(`ListenerClasses: ${known}, zz-another\\.$`));
    api.remove(listenerClasses, 'zz-another');
    assert.match((await said()) ?? '', new RegExp(`ListenerClasses: ${known}\\.$`));
  });

  test('a mount is answered while the Service that was made for it has not come back by the watch', async () => {
    const api = world();
    await using controller = await playController(api);
    api.hold(services);
    const request = ask(api, 'web-0');
    await controller.settle();
    assert.deepEqual(Object.keys(api.read(podListeners, request)?.spec.listeners ?? {}), ['listener']);
  });

  test('a mount that came while there was no Service is answered when it is back with the same ports', async () => {
    const api = world();
    await using controller = await playController(api);
    ask(api, 'web-0');
    await controller.settle();
    const before = api.read(services, 'shop/web');
    assert.ok(before !== undefined);
    const gate = Promise.withResolvers<void>();
    api.meets = ({ verb, plural }) => (verb === 'create' && plural === 'services' ? gate.promise : undefined);
    api.remove(services, 'shop/web');
    await controller.settle();
    const request = ask(api, 'web-1');
    await controller.settle();
    // The same node ports, so nothing changes in the Listener's status.
    api.meets = () => undefined;
    api.put(services, before);
    await controller.settle();
    gate.resolve();
    assert.deepEqual(Object.keys(api.read(podListeners, request)?.spec.listeners ?? {}), ['listener']);
  });

  test('a Listener that is moved to a class with nodeLossPolicy Release lets go of the node that is gone', async () => {
    const api = world({ nodeLossPolicy: 'Keep' });
    api.put(listenerClasses, { metadata: { name: 'other' }, spec: { serviceType: 'NodePort', nodeLossPolicy: 'Release' } });
    await using controller = await playController(api);
    ask(api, 'web-0');
    api.put(persistentVolumes, pinnedTo('n1', mounted('web-0').volume));
    api.remove(nodes, 'n1');
    await controller.settle();
    const listener = api.read(listeners, 'shop/web');
    assert.ok(listener !== undefined && api.read(persistentVolumeClaims, 'shop/data-web-0') !== undefined);
    api.put(listeners, { ...listener, spec: { ...listener.spec, className: 'other' } });
    await controller.settle();
    assert.equal(api.read(persistentVolumeClaims, 'shop/data-web-0'), undefined);
  });
});

describe('a Listener that cannot have its Service', () => {
  const foreign = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' }, spec: { type: 'ClusterIP' } };

  test('asks for nothing while another Service has its name, and has its own as soon as that is gone', async (t) => {
    const time = playTime(t);
    const api = world();
    api.put(services, foreign);
    await using controller = await playController(api);
    await controller.settle();
    assert.deepEqual(api.calls, ['patch-status listeners shop/web']);
    await time.pass(600_000, controller);
    assert.equal(api.calls.length, 1);
    api.remove(services, 'shop/web');
    await controller.settle();
    assert.equal(api.read(services, 'shop/web')?.spec?.type, 'NodePort');
  });

  test('adopts a Service that exists before the watch reports it', async () => {
    const api = world();
    await using controller = await playController(api);
    await controller.settle();
    api.hold(services);
    api.put(services, { ...foreign, metadata: { name: 'late', namespace: 'shop' } });
    api.put(listeners, aListener({}, { name: 'late', uid: 'uid-of-late' }));
    await controller.settle();
    const reasons = (api.read(listeners, 'shop/late')?.status?.conditions ?? []).map(({ reason }) => reason);
    assert.deepEqual(reasons, ['Accepted', 'ServiceNotOwned']);
    api.remove(services, 'shop/late');
    api.release(services);
    await controller.settle();
    assert.equal(api.read(services, 'shop/late')?.spec?.type, 'NodePort');
  });

  for (const serviceType of ['NodePort', 'ClusterIP'] as const) {
    test(`creates no ${serviceType} Service for a recreated Listener until the watch has reported it`, async () => {
      const api = world({ serviceType });
      await using controller = await playController(api);
      await controller.settle();
      api.hold(listeners);
      api.remove(listeners, 'shop/web');
      api.put(listeners, aListener({}, { uid: 'uid-of-successor' }));
      api.calls.length = 0;
      for (let collected = 0; collected < 5; collected++) {
        api.remove(services, 'shop/web');
        await controller.settle();
      }
      assert.deepEqual(api.writes, []);
      api.release(listeners);
      await controller.settle();
      assert.equal(api.read(services, 'shop/web')?.metadata.ownerReferences?.[0]?.uid, 'uid-of-successor');
    });
  }

  test("takes up a Service of its own that lacks the label, as an earlier system's does, without trying to make it", async () => {
    const api = world();
    const owner = { apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', name: 'web', uid: LISTENER_UID, controller: true };
    api.put(services, { ...foreign, metadata: { ...foreign.metadata, ownerReferences: [owner] } });
    await using controller = await playController(api);
    await controller.settle();
    assert.deepEqual(api.calls.slice(0, 2), ['get services shop/web', 'patch services shop/web']);
    assert.equal(api.read(services, 'shop/web')?.metadata.labels?.['listeners.stackable.tech/listener-name'], 'web');
  });

  test('a Service of its own without the label still yields its addresses, even if it must stay unchanged', async () => {
    const api = world({ serviceType: 'OpenShiftRoute' as 'NodePort' });
    const owner = { apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', name: 'web', uid: LISTENER_UID, controller: true };
    const spec = {
      type: 'ClusterIP',
      clusterIP: '10.0.0.9',
      clusterIPs: ['10.0.0.9'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    };
    api.put(services, { ...foreign, metadata: { ...foreign.metadata, ownerReferences: [owner] }, spec });
    await using controller = await playController(api);
    await controller.settle();
    const { conditions = [], ingressAddresses = [] } = api.read(listeners, 'shop/web')?.status ?? {};
    assert.equal(conditions.find(({ type }) => type === 'Accepted')?.reason, 'UnsupportedServiceType');
    assert.equal(ingressAddresses?.length, 1);
  });

  for (const [status, why] of [
    [403, 'exceeded quota'],
    [422, 'provided port is already allocated'],
  ] as const) {
    test(`refused with ${status}: is tried again at least once a minute, and at once when its class changes`, async (t) => {
      const time = playTime(t);
      const api = world();
      api.meets = ({ verb, plural }) => {
        if (verb === 'create' && plural === 'services') refuse(status, 'Forbidden', why);
      };
      await using controller = await playController(api);
      await time.pass(1_800_000, controller);
      for (let minute = 0; minute < 10; minute++) {
        api.calls.length = 0;
        await time.pass(61_000, controller);
        assert.ok(api.calls.length >= 1 && api.calls.length <= 3, api.calls.join());
      }
      api.meets = () => undefined;
      api.put(listenerClasses, aClass({ serviceType: 'ClusterIP' }));
      await controller.settle();
      assert.equal(api.read(services, 'shop/web')?.spec?.type, 'ClusterIP');
    });
  }

  for (const asks of ['a node asks for the mount', 'a pod gets its node', 'an earlier request names one more volume'] as const) {
    test(`is tried again when ${asks}, which receives no earlier refusal`, async (t) => {
      const time = playTime(t);
      const api = world();
      api.meets = ({ verb, plural }) => {
        if (verb === 'create' && plural === 'services') refuse(403, 'Forbidden', 'exceeded quota');
      };
      await using controller = await playController(api, time);
      const { pod, claim, volume, request } = mounted('web-0');
      api.put(persistentVolumeClaims, claim);
      // As an earlier pod of the claim left it.
      const labels = { 'listeners.stackable.tech/listener-namespace': 'shop', 'listeners.stackable.tech/listener-name': 'web' };
      api.put(persistentVolumes, { ...volume, metadata: { ...volume.metadata, labels } });
      if (asks === 'an earlier request names one more volume') {
        api.put(pods, pod);
        api.put(podListeners, { ...request, spec: { ...request.spec, mounts: {} } });
      }
      await time.pass(1_800_000, controller);
      const told = controller.events.length;
      api.meets = () => undefined;
      api.put(pods, pod);
      if (asks !== 'a pod gets its node') {
        const known = api.read(podListeners, keyOf(request)) ?? request;
        api.put(podListeners, { ...known, spec: request.spec });
      }
      await controller.settle();
      const { spec, status } = api.read(podListeners, keyOf(request)) ?? {};
      assert.deepEqual(Object.keys(spec?.listeners ?? {}), ['listener']);
      assert.deepEqual([status?.mounts ?? {}, controller.events.slice(told)], [{}, []]);
    });
  }
});

test('fields dropped by an API server with earlier definitions are written again, and then no more', async (t) => {
  const time = playTime(t);
  const api = world();
  const { spec, ...rest } = mounted('web-0').request;
  ask(api, 'web-0');
  api.remove(podListeners, `shop/${rest.metadata.name}`);
  const inherited = { scope: 'Node', ingressAddresses: [{ address: '192.168.0.1', addressType: 'IP', ports: {} }] } as const;
  api.put(podListeners, { ...rest, spec: { listeners: { listener: inherited } } });
  api.prunes = (of, object) => asDefinedEarlier(of, object);
  await using controller = await playController(api);
  await time.pass(1_000, controller);
  assert.equal(api.read(podListeners, `shop/${rest.metadata.name}`)?.spec.nodeName, undefined);

  api.prunes = (_of, object) => object;
  await time.pass(5_000, controller);
  assert.deepEqual(api.read(podListeners, `shop/${rest.metadata.name}`)?.spec.mounts, spec.mounts);
  assert.equal(api.read(podListeners, `shop/${rest.metadata.name}`)?.spec.listeners['listener']?.volumeHandle, 'pv-web-0');
  assert.equal(api.read(listeners, 'shop/web')?.status?.conditions?.length, 2);
  const written = api.writes.length;
  await time.pass(120_000, controller);
  assert.deepEqual(api.writes.slice(written), []);
});

describe('a Listener whose endpoints come and go', () => {
  const slice = (...on: readonly string[]): EndpointSlice => ({
    metadata: {
      name: 'web-1',
      namespace: 'shop',
      labels: { 'kubernetes.io/service-name': 'web', 'listeners.stackable.tech/listener-name': 'web' },
    },
    endpoints: on.map((nodeName) => ({ nodeName })),
  });
  const addressesOf = (api: PlayedApi): readonly string[] =>
    (api.read(listeners, 'shop/web')?.status?.ingressAddresses ?? []).map(({ address }) => address);

  test('says so at once, then twice a second at most, and in the end all of it', async (t) => {
    const time = playTime(t);
    const api = world();
    for (let node = 2; node < 60; node++) api.put(nodes, aNode(`n${node}`, [{ type: 'InternalIP', address: `192.168.0.${node}` }]));
    await using controller = await playController(api, time);
    await controller.settle();
    api.calls.length = 0;
    api.put(endpointSlices, slice('n1'));
    await controller.settle();
    assert.deepEqual([api.calls, addressesOf(api)], [['patch-status listeners shop/web'], ['192.168.0.1']]);
    await time.pass(1_000, controller);
    for (let change = 2; change <= 51; change++) {
      api.put(endpointSlices, slice('n1', `n${change}`));
      await time.pass(100, controller);
      if (change === 2) assert.deepEqual(addressesOf(api), ['192.168.0.1', '192.168.0.2']);
    }
    await time.pass(500, controller);
    assert.ok(api.calls.length > 5 && api.calls.length <= 13, `${api.calls.length} writes`);
    assert.deepEqual(addressesOf(api), ['192.168.0.1', '192.168.0.51']);
    await time.pass(10_000, controller);
    assert.deepEqual(addressesOf(api), ['192.168.0.1', '192.168.0.51']);
  });

  test('loses its last address at once', async (t) => {
    const time = playTime(t);
    const api = world();
    await using controller = await playController(api, time);
    api.put(endpointSlices, slice('n1'));
    await controller.settle();
    api.put(endpointSlices, slice());
    await controller.settle();
    assert.deepEqual(addressesOf(api), []);
  });
});

test('a Listener deleted before the answer to its status write is not reported', async () => {
  const api = world({ serviceType: 'OpenShiftRoute' as 'NodePort' });
  api.prunes = (_of, object) => {
    queueMicrotask(() => api.remove(listeners, 'shop/web'));
    return object;
  };
  await using controller = await playController(api);
  await controller.settle();
  assert.deepEqual(api.writes, ['patch-status listeners shop/web']);
  assert.deepEqual(controller.events, []);
});

test('a class that comes a moment after its Listener is missed neither in the status nor in an event', async (t) => {
  const time = playTime(t);
  const api = world();
  api.remove(listenerClasses, 'some-class');
  await using controller = await playController(api, time);
  await time.pass(750, controller);
  assert.equal(api.read(listeners, 'shop/web')?.status, undefined);
  api.put(listenerClasses, aClass({ serviceType: 'ClusterIP' }));
  await time.pass(10_000, controller);
  assert.equal(controller.events.length, 0);
  api.remove(listenerClasses, 'some-class');
  await time.pass(10_000, controller);
  assert.deepEqual(
    controller.events.map((event) => event.slice(0, event.indexOf(':'))),
    ['ClassNotFound'],
  );
});

test('a class that does not come is missed in status and event after two seconds', async (t) => {
  const time = playTime(t);
  const api = world();
  api.remove(listenerClasses, 'some-class');
  await using controller = await playController(api, time);
  await time.pass(2_500, controller);
  const missing = api.read(listeners, 'shop/web')?.status?.conditions?.map(({ reason }) => reason);
  assert.deepEqual(missing, ['ClassNotFound', 'NotAccepted']);
  assert.equal(controller.events.length, 1);
  await time.pass(60_000, controller);
  assert.equal(controller.events.length, 1);
});

describe('a Service that is being deleted behind a finalizer', () => {
  const FINALIZER = 'service.kubernetes.io/load-balancer-cleanup';
  const saidOf = (api: PlayedApi): string => {
    const { reason, message } = api.read(listeners, 'shop/web')?.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
    return `${reason}: ${message}`;
  };
  const isBeingDeleted = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: [FINALIZER] };

  for (const who of ["the Listener's own", "an earlier Listener's", "an earlier Listener's, without our label"] as const) {
    test(`${who}: is named with its finalizer, left alone, and replaced when it is gone`, async (t) => {
      const time = playTime(t);
      const api = world();
      await using controller = await playController(api, time);
      await controller.settle();
      const stored = api.read(services, 'shop/web');
      assert.ok(stored !== undefined);
      const { labels: _labels, ...unlabelled } = stored.metadata;
      const metadata = who.endsWith('label') ? unlabelled : stored.metadata;
      api.put(services, { ...stored, metadata: { ...metadata, ...isBeingDeleted } });
      if (who !== "the Listener's own") {
        api.remove(listeners, 'shop/web');
        api.put(listeners, aListener({}, { uid: 'uid-of-successor' }));
      }
      api.put(listenerClasses, aClass({ serviceType: 'ClusterIP' }));
      await controller.settle();
      assert.match(saidOf(api), new RegExp(`^ServiceBeingReplaced: Service shop/web .*is being deleted.*${FINALIZER}`));
      assert.equal(api.read(services, 'shop/web')?.spec?.type, 'NodePort');
      assert.equal(controller.events.length, 0);
      await time.pass(11_000, controller);
      assert.equal(controller.events.filter((event) => event.includes(FINALIZER)).length, 1);
      api.remove(services, 'shop/web');
      await time.pass(1_000, controller);
      assert.equal(api.read(services, 'shop/web')?.spec?.type, 'ClusterIP');
    });
  }

  test('is followed as its finalizers change', async () => {
    const api = world();
    await using controller = await playController(api);
    await controller.settle();
    const stored = api.read(services, 'shop/web');
    assert.ok(stored !== undefined);
    for (const finalizers of [[FINALIZER, 'example.com/other'], ['example.com/other'], []] as readonly (readonly string[])[]) {
      api.put(services, { ...stored, metadata: { ...stored.metadata, ...isBeingDeleted, finalizers } });
      await controller.settle();
      for (const name of [FINALIZER, 'example.com/other']) assert.equal(saidOf(api).includes(name), finalizers.includes(name), saidOf(api));
    }
  });
});

test('a change that the API server would refuse is left out with the reason, and the rest of the class is applied', async () => {
  const api = world({ serviceType: 'LoadBalancer', loadBalancerClass: 'example.com/a' });
  api.meets = ({ verb, plural, object }) => {
    const { spec } = (object ?? {}) as { readonly spec?: { readonly loadBalancerClass?: string } };
    if (verb === 'patch' && plural === 'services' && spec?.loadBalancerClass !== 'example.com/a')
      refuse(422, 'Invalid', 'may not change once set');
  };
  await using controller = await playController(api);
  await controller.settle();
  for (const [loadBalancerClass, annotation] of [
    ['example.com/b', '1'],
    [null, '2'],
  ] as const) {
    api.put(
      listenerClasses,
      aClass({ serviceType: 'LoadBalancer', loadBalancerClass, serviceAnnotations: { 'example.com/size': annotation } }),
    );
    await controller.settle();
    assert.equal(api.read(services, 'shop/web')?.metadata.annotations?.['example.com/size'], annotation);
    const { status, reason, message = '' } = api.read(listeners, 'shop/web')?.status?.conditions?.[0] ?? {};
    assert.deepEqual([status, reason], ['True', 'AcceptedWithNotes']);
    assert.match(message, /spec\.loadBalancerClass from example\.com\/a to (example\.com\/b|none)/);
    assert.match(message, /Delete the Service: it is created again, and its address changes\./);
  }
  api.remove(services, 'shop/web');
  await controller.settle();
  assert.equal(api.read(services, 'shop/web')?.spec?.loadBalancerClass, undefined);
  assert.equal(api.read(listeners, 'shop/web')?.status?.conditions?.[0]?.message, 'The ListenerClass and the Listener fit together.');
});

test('a Service that an earlier version labelled gets what is missing in one patch, and keeps its ports', async () => {
  const api = world();
  await using first = await playController(api);
  await first.settle();
  await first[Symbol.asyncDispose]();
  const stored = api.read(services, 'shop/web');
  assert.ok(stored !== undefined);
  const { 'app.kubernetes.io/managed-by': _, ...labels } = stored.metadata.labels ?? {};
  const before = api.put(services, {
    ...stored,
    metadata: { ...stored.metadata, labels: { ...labels, 'app.kubernetes.io/name': 'kafka' } },
  });
  api.calls.length = 0;
  await using second = await playController(api);
  await second.settle();
  const after = api.read(services, 'shop/web');
  assert.deepEqual(api.writes, ['patch services shop/web']);
  assert.deepEqual([after?.spec, after?.metadata.labels], [before.spec, stored.metadata.labels]);
});

/** As pruned by definitions without what Earshot added. */
function asDefinedEarlier<T extends KubeObject>(of: Resource<T>, object: T): T {
  const { spec, status } = object as { readonly spec?: Partial<PodListeners['spec']>; readonly status?: Partial<ListenerStatus> };
  if (of.plural === podListeners.plural) {
    const kept = Object.entries(spec?.listeners ?? {}).map(([name, { scope, ingressAddresses }]) => [name, { scope, ingressAddresses }]);
    return { ...object, spec: { listeners: Object.fromEntries(kept) } };
  }
  if (of.plural !== listeners.plural || status === undefined) return object;
  const { conditions: _conditions, observedGeneration: _generation, ...known } = status;
  return { ...object, status: known };
}
