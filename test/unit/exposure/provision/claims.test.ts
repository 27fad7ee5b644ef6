/** The controller, its caches and queues, beside a kube-controller-manager that is played as well. */
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { listenerClasses, listeners } from '../../../../src/api/listeners/index.ts';
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION } from '../../../../src/api/listeners/names.ts';
import { isBound } from '../../../../src/exposure/cluster/claims.ts';
import { TransportError } from '../../../../src/kube/errors.ts';
import { keyOf } from '../../../../src/kube/key.ts';
import type { PersistentVolumeClaim } from '../../../../src/kube/objects.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods, storageClasses, type Resource } from '../../../../src/kube/resource.ts';
import { aClass, aListener } from '../listeners/fixtures.ts';
import { mounted } from '../support/objects.ts';
import { PlayedApi, refuse } from '../support/played-api.ts';
import { playController, type PlayedController } from '../support/played-controller.ts';
import { aClaim, aDriverNode, aStorageClass, PROVISIONER, SELECTED } from './objects.ts';
import { PlayedBinder } from './played-binder.ts';

function world(): PlayedApi {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'NodePort', pinnedNodePorts: true }));
  api.put(storageClasses, aStorageClass());
  api.put(nodes, aDriverNode('n1'));
  return api;
}

const play = (api: PlayedApi): Promise<PlayedController> => playController(api, { provisions: true });

/** As kube-controller-manager says that it has the volume. */
function know(api: PlayedApi, name: string, phase = 'Bound'): void {
  const volume = api.read(persistentVolumes, name);
  assert.ok(volume, `there is a volume ${name}`);
  api.put(persistentVolumes, { ...volume, status: { phase } });
}

describe('a claim', () => {
  it('gets its volume at once, and is bound in two writes once kube-controller-manager has the volume', async () => {
    const api = world();
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim({ [PROVISIONER]: 'listeners.stackable.tech' }));
    await controller.settle();
    assert.deepEqual(api.writes, ['create persistentvolumes pvc-c1', 'patch persistentvolumeclaims shop/data-web-0']);
    assert.equal(api.read(persistentVolumeClaims, 'shop/data-web-0')?.status?.phase, 'Pending', 'it is not bound before');
    know(api, 'pvc-c1');
    await controller.settle();
    assert.deepEqual(api.writes.slice(2), ['patch-status persistentvolumeclaims shop/data-web-0']);
    const claim = api.read(persistentVolumeClaims, 'shop/data-web-0');
    assert.ok(claim !== undefined && isBound(claim));
    assert.equal(claim.spec?.volumeName, 'pvc-c1');
    assert.equal(claim.metadata.annotations?.['pv.kubernetes.io/bound-by-controller'], 'yes');
    assert.deepEqual({ ...claim.status }, { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1' } });
    assert.deepEqual(controller.events, []);
  });

  it('is not written while kube-controller-manager writes it, which would report a conflict', async () => {
    const api = world();
    await using controller = await playController(api, { provisions: true, clock: () => 0 });
    api.put(persistentVolumeClaims, aClaim());
    await controller.settle();
    assert.deepEqual(api.writes, ['create persistentvolumes pvc-c1']);
    api.put(persistentVolumeClaims, aClaim({ [PROVISIONER]: 'listeners.stackable.tech' }));
    await controller.settle();
    assert.deepEqual(api.writes.slice(1), ['patch persistentvolumeclaims shop/data-web-0']);
  });

  it('is written without the annotation of kube-controller-manager if that does not come soon', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 0;
    const api = world();
    await using controller = await playController(api, { provisions: true, clock: () => now });
    api.put(persistentVolumeClaims, aClaim());
    await controller.settle();
    assert.deepEqual(api.writes, ['create persistentvolumes pvc-c1']);
    now = 150;
    t.mock.timers.tick(150);
    await controller.settle();
    assert.deepEqual(api.writes.slice(1), ['patch persistentvolumeclaims shop/data-web-0']);
  });

  for (const [what, annotations, expected] of [
    [
      'another class',
      { [LISTENER_CLASS_ANNOTATION]: 'other' },
      /listener-class other has no effect: PersistentVolume pvc-c1 was created for some-class/,
    ],
    [
      'a Listener',
      { [LISTENER_NAME_ANNOTATION]: 'web' },
      /listener-name web has no effect: PersistentVolume pvc-c1 was created for some-class/,
    ],
    ['the same class', { [LISTENER_CLASS_ANNOTATION]: 'some-class', more: 'x' }, undefined],
  ] as const) {
    it(`that is bound and then names ${what} is ${expected === undefined ? 'left alone' : 'reported to have no effect'}`, async () => {
      const api = world();
      await using controller = await play(api);
      api.put(persistentVolumeClaims, aClaim());
      await controller.settle();
      know(api, 'pvc-c1');
      await controller.settle();
      const bound = api.read(persistentVolumeClaims, 'shop/data-web-0');
      assert.ok(bound !== undefined && isBound(bound));
      const { [LISTENER_CLASS_ANNOTATION]: _class, ...others } = bound.metadata.annotations ?? {};
      const written = api.writes.length;
      api.put(persistentVolumeClaims, { ...bound, metadata: { ...bound.metadata, annotations: { ...others, ...annotations } } });
      await controller.settle();
      assert.equal(api.writes.length, written);
      assert.equal(controller.events.length, expected === undefined ? 0 : 1);
      if (expected !== undefined) assert.match(controller.events[0] ?? '', expected);
    });
  }

  it('is left to kube-controller-manager and a sidecar where there is one', async () => {
    const api = world();
    await using controller = await playController(api);
    api.put(persistentVolumeClaims, aClaim());
    await controller.settle();
    assert.deepEqual(api.writes, []);
  });

  for (const [what, claim, mend, message] of [
    [
      'has no annotation',
      () => withoutClass(aClaim()),
      (api: PlayedApi) => api.put(persistentVolumeClaims, aClaim()),
      /names nothing to expose/,
    ],
    [
      'names a class that is not there',
      () => aClaim({ [LISTENER_CLASS_ANNOTATION]: 'new' }),
      (api: PlayedApi) => api.put(listenerClasses, { ...aClass({ serviceType: 'ClusterIP' }), metadata: { name: 'new' } }),
      /ListenerClass new.* does not exist/,
    ],
    [
      'names a Listener that is not there',
      () => withoutClass(aClaim({ [LISTENER_NAME_ANNOTATION]: 'web' })),
      (api: PlayedApi) => api.put(listeners, aListener()),
      /Listener shop\/web does not exist/,
    ],
    [
      'names a Listener whose class is not there',
      (api: PlayedApi) => {
        api.put(listeners, aListener({ className: 'new' }));
        return withoutClass(aClaim({ [LISTENER_NAME_ANNOTATION]: 'web' }));
      },
      (api: PlayedApi) => api.put(listenerClasses, { ...aClass({ serviceType: 'ClusterIP' }), metadata: { name: 'new' } }),
      /ListenerClass new.* does not exist/,
    ],
    [
      'was given a node without the driver',
      (api: PlayedApi) => {
        api.put(nodes, { metadata: { name: 'n2' } });
        return aClaim({ [SELECTED]: 'n2' });
      },
      (api: PlayedApi) => api.put(nodes, aDriverNode('n2')),
      /is not running on Node n2/,
    ],
  ] satisfies readonly (readonly [string, (api: PlayedApi) => PersistentVolumeClaim, (api: PlayedApi) => unknown, RegExp])[]) {
    it(`that ${what} is reported, and gets its volume as soon as that is fixed`, async () => {
      const api = world();
      await using controller = await play(api);
      api.put(persistentVolumeClaims, claim(api));
      await controller.settle();
      assert.equal(api.read(persistentVolumes, 'pvc-c1'), undefined);
      const told = controller.events.filter((event) => event.startsWith('ProvisioningFailed: '));
      assert.equal(told.length, 1, told.join('\n'));
      assert.match(told[0] ?? '', message);
      mend(api);
      await controller.settle();
      assert.ok(api.read(persistentVolumes, 'pvc-c1'), 'no timer was needed');
    });
  }

  it('that is refused is reported on the waiting pod too, in either order, with what was meant', async () => {
    for (const isPodFirst of [true, false]) {
      const api = world();
      await using controller = await play(api);
      const mistyped = withoutClass(aClaim({ 'listeners.stackable.tech/listenerclass': 'some-class' }));
      const { pod } = mounted('web-0');
      const starting = { ...pod, status: { phase: 'Pending' } };
      if (isPodFirst) api.put(pods, starting);
      api.put(persistentVolumeClaims, mistyped);
      await controller.settle();
      if (!isPodFirst) api.put(pods, starting);
      await controller.settle();
      const onPod = controller.regarding.filter(({ kind, name }) => kind === 'Pod' && name === 'web-0');
      assert.ok(onPod.length > 0);
      assert.ok(controller.events.every((event) => event.endsWith('did you mean listeners.stackable.tech/listener-class?')));
    }
  });

  it('that names a class with a typo is reported with the class that was meant', async () => {
    const api = world();
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim({ [LISTENER_CLASS_ANNOTATION]: 'some-clas' }));
    await controller.settle();
    assert.match(controller.events[0] ?? '', /ListenerClass some-clas.* did you mean some-class\?/);
  });

  it('whose class of storage comes later gets its volume then', async () => {
    const api = world();
    api.remove(storageClasses, 'listeners.stackable.tech');
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim());
    await controller.settle();
    api.put(storageClasses, aStorageClass());
    await controller.settle();
    assert.ok(api.read(persistentVolumes, 'pvc-c1'));
  });

  it('whose node is gone asks the scheduler for another', async () => {
    const api = world();
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim({ [SELECTED]: 'lost' }));
    await controller.settle();
    assert.deepEqual(api.writes, ['patch persistentvolumeclaims shop/data-web-0']);
    assert.equal(api.read(persistentVolumeClaims, 'shop/data-web-0')?.metadata.annotations?.[SELECTED], undefined);
    assert.match(controller.events[0] ?? '', /Node lost, .*no longer exists/);
  });

  it("is given another node without a request if the selected name cannot be a node's", async () => {
    const api = world();
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim({ [SELECTED]: `n1/../${'n'.repeat(10_000)}` }));
    await controller.settle();
    assert.deepEqual(api.calls, ['patch persistentvolumeclaims shop/data-web-0']);
    assert.match(controller.events[0] ?? '', /^.{1,400}no longer exists\. Another Node is requested\.$/);
  });

  it('reports what the API server refuses of its volume', async () => {
    const api = world();
    api.meets = ({ verb, plural }) => {
      if (verb === 'create' && plural === 'persistentvolumes') refuse(422, 'Invalid', 'mountOptions are not allowed');
    };
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim());
    await controller.settle();
    assert.match(controller.events[0] ?? '', /^ProvisioningFailed: The API server refuses the PersistentVolume: mountOptions/);
  });

  it('that is recreated under its name is another claim: nothing of the former is written to it', async () => {
    const api = world();
    let replaced = false;
    api.meets = ({ verb, plural }) => {
      if (replaced || verb !== 'patch' || plural !== 'persistentvolumeclaims') return;
      replaced = true;
      api.remove(persistentVolumeClaims, 'shop/data-web-0');
      api.put(persistentVolumeClaims, aClaim({ [PROVISIONER]: 'listeners.stackable.tech' }, {}, { uid: 'c2' }));
    };
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim({ [PROVISIONER]: 'listeners.stackable.tech' }));
    await controller.settle();
    know(api, 'pvc-c1');
    await controller.settle();
    assert.equal(api.read(persistentVolumeClaims, 'shop/data-web-0')?.spec?.volumeName, 'pvc-c2');
    assert.equal(api.read(persistentVolumeClaims, 'shop/data-web-0')?.status?.phase, 'Pending', 'the former volume is not bound to it');
    know(api, 'pvc-c1', 'Released');
    know(api, 'pvc-c2');
    await controller.settle();
    assert.equal(api.read(persistentVolumes, 'pvc-c1'), undefined, 'the former one goes');
    assert.equal(api.read(persistentVolumeClaims, 'shop/data-web-0')?.status?.phase, 'Bound');
  });

  it('that a sidecar made the volume of is bound just the same', async () => {
    const api = world();
    api.meets = ({ verb, plural, object }) => {
      if (verb !== 'create' || plural !== 'persistentvolumes') return;
      // It was faster.
      api.put(persistentVolumes, object as never);
    };
    await using controller = await play(api);
    api.put(persistentVolumeClaims, aClaim({ [PROVISIONER]: 'listeners.stackable.tech' }));
    await controller.settle();
    know(api, 'pvc-c1');
    await controller.settle();
    const claim = api.read(persistentVolumeClaims, 'shop/data-web-0');
    assert.ok(claim !== undefined && isBound(claim));
  });
});

describe('whatever order things come in', () => {
  const SEEDS = Number(process.env['EARSHOT_SEEDS'] ?? 40);

  it('each claim ends with one volume, bound, no claim is ever lost, and no volume is left without its claim', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      for (let seed = 1; seed <= SEEDS; seed++) await history(seed).catch((error) => assert.fail(`seed ${seed}: ${error.stack}`));
    } finally {
      mock.timers.reset();
    }
  });
});

const CLAIMS = 3;
const MOST_STEPS = 400;

/** Claims that come, go and come again beside lagging watches, a binder that is slow, lost answers and restarts, all drawn from the seed. */
async function history(seed: number): Promise<void> {
  const random = randomOf(seed);
  const api = world();
  const binder = new PlayedBinder(api);
  const kinds: readonly Resource[] = [persistentVolumes, persistentVolumeClaims];
  let claimed = 0;
  const come = (index: number): void => {
    const claim = aClaim({}, {}, { name: `data-${index}`, uid: `c${++claimed}` });
    if (api.read(persistentVolumeClaims, keyOf(claim)) === undefined) api.put(persistentVolumeClaims, claim);
  };
  let isCalm = false;
  api.meets = ({ verb }) => {
    if (!isCalm && verb !== 'get' && random() < 0.1) throw new TransportError('kube-cut', 'cut', { sent: true });
  };
  const tell = (): void => binder.notice({ claims: namesOf(), volumes: volumesOf(claimed) });

  let controller = await play(api);
  for (let step = 0; step < 60; step++) {
    const draw = random();
    const index = Math.floor(random() * CLAIMS);
    const kind = kinds[Math.floor(random() * kinds.length)] ?? persistentVolumes;
    if (draw < 0.2) come(index);
    else if (draw < 0.25) api.remove(persistentVolumeClaims, `shop/data-${index}`);
    else if (draw < 0.35) api.hold(kind);
    else if (draw < 0.5) api.release(kind);
    else if (draw < 0.53) {
      await controller[Symbol.asyncDispose]();
      controller = await play(api);
    } else if (draw < 0.75) {
      tell();
      binder.step(random() < 0.5 ? 'claims' : 'volumes');
    } else if (draw < 0.9) for (let turns = Math.floor(random() * 6); turns > 0; turns--) await turn();
    else mock.timers.tick(200);
  }

  isCalm = true;
  for (const kind of kinds) api.release(kind);
  for (let quiet = 0, calls = -1, steps = 0; quiet < 3; steps++) {
    assert.ok(steps < MOST_STEPS, 'it does not come to rest');
    tell();
    let busy = 0;
    while (busy < 50 && (binder.step('volumes') || binder.step('claims'))) busy++;
    mock.timers.tick(60_000);
    await controller.settle();
    quiet = api.calls.length === calls ? quiet + 1 : 0;
    calls = api.calls.length;
  }
  await controller[Symbol.asyncDispose]();

  const claims = namesOf().flatMap((key) => api.read(persistentVolumeClaims, key) ?? []);
  const volumes = volumesOf(claimed).filter((name) => api.read(persistentVolumes, name) !== undefined);
  assert.deepEqual(binder.mishaps, []);
  assert.deepEqual(
    claims.map((claim) => [keyOf(claim), isBound(claim), claim.spec?.volumeName]),
    claims.map((claim) => [keyOf(claim), true, `pvc-${claim.metadata.uid}`]),
  );
  assert.deepEqual(volumes, claims.map(({ metadata }) => `pvc-${metadata.uid}`).toSorted(byNumber));
}

function namesOf(): readonly string[] {
  return Array.from({ length: CLAIMS }, (_, index) => `shop/data-${index}`);
}

function volumesOf(claimed: number): readonly string[] {
  return Array.from({ length: claimed }, (_, index) => `pvc-c${index + 1}`);
}

function byNumber(a: string, b: string): number {
  return Number(a.slice(5)) - Number(b.slice(5));
}

/** mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function withoutClass({ metadata, ...claim }: PersistentVolumeClaim): PersistentVolumeClaim {
  const { [LISTENER_CLASS_ANNOTATION]: _class, ...annotations } = metadata.annotations ?? {};
  return { ...claim, metadata: { ...metadata, annotations } };
}
