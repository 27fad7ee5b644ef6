/** The label by which a Listener's Service selects a pod, and the ports that pods of one claim bring. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { listenerClasses, listeners, podListeners, type PodListeners } from '../../../../src/api/listeners/index.ts';
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_LABEL, podLabelOf } from '../../../../src/api/listeners/names.ts';
import { podLabels } from '../../../../src/exposure/mounts/mount-preparation.ts';
import type { EndpointSlice, Pod, StringMap } from '../../../../src/kube/objects.ts';
import { endpointSlices, nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../../../src/kube/resource.ts';
import { aClass, aListener, aNode, LISTENER_UID } from '../listeners/fixtures.ts';
import { mounted } from '../support/objects.ts';
import { PlayedApi } from '../support/played-api.ts';
import { playController } from '../support/played-controller.ts';

const [LABEL] = podLabelOf({ name: 'web', uid: LISTENER_UID });
const [EARLIER] = podLabelOf({ name: 'web', uid: '0-1-2' });
const { pod, claim, volume, request } = mounted('web-0');
const labelled = (labels: StringMap): Pod => ({ ...pod, metadata: { ...pod.metadata, labels } });

const rows: readonly (readonly [string, StringMap, Readonly<Record<string, string | null>>])[] = [
  ['has none yet', { app: 'web' }, { [LABEL]: 'web' }],
  ['has it', { [LABEL]: 'web' }, { [LABEL]: 'web' }],
  ['has that of an earlier Listener of this name', { [EARLIER]: 'web' }, { [LABEL]: 'web', [EARLIER]: null }],
  ['has that of another Listener', { [EARLIER]: 'other' }, { [LABEL]: 'web' }],
];
for (const [what, labels, expected] of rows) {
  test(`the labels of a pod that ${what}`, () => {
    assert.deepEqual(podLabels(labelled(labels), { name: 'web', uid: LISTENER_UID }), expected);
  });
}

function cluster(): PlayedApi {
  const api = new PlayedApi();
  api.put(listenerClasses, aClass({ serviceType: 'NodePort' }));
  api.put(nodes, aNode('n1', [{ type: 'InternalIP', address: '192.168.0.1' }]));
  api.put(persistentVolumes, volume);
  api.put(persistentVolumeClaims, claim);
  return api;
}

function slice(...uids: readonly string[]): EndpointSlice {
  return {
    metadata: { name: 'web-1', namespace: 'shop', labels: { [LISTENER_NAME_LABEL]: 'web', 'kubernetes.io/service-name': 'web' } },
    endpoints: uids.map((uid) => ({ nodeName: 'n1', conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'web-0', uid } })),
  };
}

describe('a running pod whose label was removed', () => {
  const asRunning = { ...labelled({ app: 'web' }), status: { phase: 'Running' } };
  const ingressAddresses = [{ address: '192.168.0.1', addressType: 'IP' as const, ports: {} }];
  const answered: PodListeners = {
    ...request,
    spec: {
      ...request.spec,
      listeners: { listener: { scope: 'Node', ingressAddresses, volumeHandle: 'pv-web-0', listenerUid: LISTENER_UID } },
    },
  };
  const labelsOf = (api: PlayedApi): StringMap => api.read(pods, 'shop/web-0')?.metadata.labels ?? {};

  for (const [what, leave] of [
    ['left the endpoints', (api: PlayedApi) => api.put(endpointSlices, slice('uid-of-other'))],
    ['was the last of them', (api: PlayedApi) => api.remove(endpointSlices, 'shop/web-1')],
  ] as const) {
    it(`gets it back once it ${what}`, async () => {
      const api = cluster();
      api.put(listeners, aListener());
      api.put(pods, asRunning);
      api.put(podListeners, answered);
      api.put(endpointSlices, slice('uid-of-web-0', 'uid-of-other'));
      await using controller = await playController(api);
      await controller.settle();
      assert.equal(labelsOf(api)[LABEL], undefined, 'no event reported it');
      leave(api);
      await controller.settle();
      assert.deepEqual(labelsOf(api), { app: 'web', [LABEL]: 'web' });
    });
  }

  it('does not while it is being deleted', async () => {
    const api = cluster();
    api.put(listeners, aListener());
    api.put(pods, { ...asRunning, metadata: { ...asRunning.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    api.put(podListeners, answered);
    api.put(endpointSlices, slice('uid-of-web-0'));
    await using controller = await playController(api);
    await controller.settle();
    api.put(endpointSlices, slice());
    await controller.settle();
    assert.equal(labelsOf(api)[LABEL], undefined);
  });
});

describe('a pod that brings other ports to the Listener of a shared claim', () => {
  const csi = {
    driver: 'listeners.stackable.tech',
    volumeHandle: 'pv-web-0',
    volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: 'some-class' },
  };
  const start = (name: string, port: number): Pod => {
    const other = mounted(name).pod;
    const containers = [{ name: 'main', ports: [{ name: 'http', containerPort: port }] }];
    return { ...other, status: { phase: 'Pending' }, spec: { ...pod.spec, nodeName: 'n1', containers } };
  };

  for (const [port, isWarned] of [
    [9090, true],
    [8080, false],
  ] as const) {
    it(`${isWarned ? 'is warned with both lists' : 'is not where they are the same'}`, async () => {
      const api = cluster();
      api.put(persistentVolumes, { ...volume, spec: { ...volume.spec, csi } });
      await using controller = await playController(api);
      api.put(pods, start('web-0', 8080));
      await controller.settle();
      api.put(pods, start('admin-0', port));
      await controller.settle();
      const warned = controller.events.filter((event) => event.startsWith('PortsReplaced'));
      assert.equal(warned.length, isWarned ? 1 : 0);
      if (isWarned)
        assert.match(warned[0] ?? '', /has the ports of this pod \(http 9090\) instead of http 8080\. Pod web-0 shares the claim/);
    });
  }
});
