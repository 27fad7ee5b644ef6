/** A pod that ends while another pod of its claim waits on the same node. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { listenerClasses, listeners, podListeners, type PodListeners } from '../../../../src/api/listeners/index.ts';
import { findAwaited } from '../../../../src/exposure/mounts/ending-pods-reconciler.ts';
import { endOf } from '../../../../src/exposure/mounts/mount-plan.ts';
import { keyOf } from '../../../../src/kube/key.ts';
import type { Pod } from '../../../../src/kube/objects.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../../../src/kube/resource.ts';
import { aClass, aListener, aNode } from '../listeners/fixtures.ts';
import { mounted } from '../support/objects.ts';
import { PlayedApi } from '../support/played-api.ts';
import { playController } from '../support/played-controller.ts';

const HANDLE = 'pv-web-0';
const AT = '2026-01-01T00:00:00Z';
const { pod, claim, volume, request } = mounted('web-0');

const rows: readonly (readonly [string, Pod | undefined, RegExp | undefined])[] = [
  ['runs', { ...pod, status: { phase: 'Running' } }, undefined],
  ['starts', { ...pod, status: { phase: 'Pending' } }, undefined],
  ['is being deleted', { ...pod, metadata: { ...pod.metadata, deletionTimestamp: AT } }, /^Pod shop\/web-0 is being deleted\.$/],
  ['has succeeded', { ...pod, status: { phase: 'Succeeded' } }, /has finished \(phase Succeeded\)/],
  ['has failed', { ...pod, status: { phase: 'Failed' } }, /has finished \(phase Failed\)/],
  ['is gone', undefined, /does not exist any more/],
  ['has a successor', { ...pod, metadata: { ...pod.metadata, uid: 'other' } }, /does not exist any more/],
];
for (const [what, asFound, message] of rows) {
  test(`a pod that ${what} ${message === undefined ? 'keeps' : 'ends'} its mounts`, () => {
    const end = endOf(asFound, request);
    assert.equal(end?.reason, message === undefined ? undefined : 'PodEnding');
    if (message !== undefined) assert.match(end?.message ?? '', message);
  });
}

/** The request of another pod that mounts the same volume. */
function sharing(name: string, nodeName: string, changes: Partial<PodListeners> = {}): PodListeners {
  const other = mounted(name, nodeName).request;
  return { ...other, ...changes, spec: { ...other.spec, mounts: { [HANDLE]: {} }, ...changes.spec } };
}

describe('the pods whose end a waiting request must notice', () => {
  const ingressAddresses = [{ address: '10.0.0.1', addressType: 'IP' as const, ports: {} }];
  const answered = { listeners: { l: { scope: 'Node' as const, ingressAddresses, volumeHandle: HANDLE, listenerUid: 'u' } } };
  const running = (name: string, node = 'n1'): PodListeners => sharing(name, node, { spec: answered });
  const ending = sharing('e', 'n1', { status: { mounts: { [HANDLE]: { reason: 'PodEnding', message: 'It is.' } } } });
  const table: readonly (readonly [string, PodListeners, readonly PodListeners[], readonly string[] | undefined])[] = [
    ['are the others of its volume on its node', sharing('b', 'n1'), [running('a'), running('c', 'n2')], ['a']],
    ['are none of those that are known to end', sharing('b', 'n1'), [ending, running('a')], ['a']],
    ['are left to the first that waits', sharing('b', 'n1'), [sharing('a', 'n1'), running('c')], undefined],
    ['are not left to one that ends', sharing('f', 'n1'), [ending, running('c')], ['c']],
    ['are not left to one on another node', sharing('b', 'n1'), [sharing('a', 'n2'), running('c')], ['c']],
    ['are of no concern once it is answered', running('b'), [running('a')], undefined],
  ];
  const isStarting = ({ spec }: PodListeners): boolean => Object.keys(spec.listeners).length === 0;
  for (const [what, own, others, expected] of table) {
    it(what, () => {
      const awaited = findAwaited(own, { requestsOf: () => [own, ...others], isStarting }).get(HANDLE);
      assert.deepEqual(
        awaited?.map(keyOf),
        expected?.map((name) => `shop/pod-uid-of-${name}`),
      );
    });
  }
});

function cluster(): PlayedApi {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'LoadBalancer' }));
  api.put(nodes, aNode('n1', [{ type: 'InternalIP', address: '192.168.0.1' }]));
  api.put(listeners, aListener({}));
  return api;
}

describe('the controller', () => {
  const starting: Pod = { ...pod, status: { phase: 'Pending' } };
  const reasonOf = (api: PlayedApi, name: string): string | undefined =>
    api.read(podListeners, `shop/pod-uid-of-${name}`)?.status?.mounts?.[HANDLE]?.reason;

  it('says at once, and in no event, that a waiting pod is being deleted', async () => {
    const api = cluster();
    api.put(persistentVolumes, volume);
    api.put(persistentVolumeClaims, claim);
    api.put(pods, starting);
    await using controller = await playController(api);
    api.put(podListeners, request);
    await controller.settle();
    assert.equal(reasonOf(api, 'web-0'), undefined);
    api.put(pods, { ...starting, metadata: { ...starting.metadata, deletionTimestamp: AT } });
    await controller.settle();
    assert.equal(reasonOf(api, 'web-0'), 'PodEnding');
    assert.deepEqual(controller.events, []);
  });

  it('says so of a running pod too while another of its claim waits, and never takes it back', async () => {
    const api = cluster();
    api.put(persistentVolumes, volume);
    api.put(persistentVolumeClaims, claim);
    api.put(pods, starting);
    const gone = { ...mounted('old').pod, status: { phase: 'Running' } };
    api.put(pods, { ...gone, metadata: { ...gone.metadata, deletionTimestamp: AT } });
    api.put(podListeners, sharing('old', 'n1'));
    await using controller = await playController(api);
    api.put(podListeners, request);
    await controller.settle();
    assert.equal(reasonOf(api, 'old'), 'PodEnding');
    assert.equal(reasonOf(api, 'web-0'), undefined);
    assert.deepEqual(controller.events, []);
  });

  it('reads no running pod while none of its claim waits', async () => {
    const api = cluster();
    const before = api.calls.length;
    await using controller = await playController(api);
    await controller.settle();
    assert.deepEqual(
      api.calls.slice(before).filter((call) => call.startsWith('get pods')),
      [],
    );
  });
});
