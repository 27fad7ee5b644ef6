import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodListeners } from '../../../../src/api/listeners/index.ts';
import { checkMount, isListenerCurrent, planEntry, planVolumeListener } from '../../../../src/exposure/mounts/mount-plan.ts';
import { pinnedNodesOf, targetOf, type VolumeTarget } from '../../../../src/exposure/cluster/volumes.ts';
import { aListener, aNode, aPod, aService, aVolume, LISTENER_UID } from '../listeners/fixtures.ts';

const byClass = { 'listeners.stackable.tech/listener-class': 'public' };
const byName = { 'listeners.stackable.tech/listener-name': 'shared' };

const request: PodListeners = {
  metadata: { name: 'pod-pod-uid', namespace: 'shop', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid: 'pod-uid' }] },
  spec: { nodeName: 'n1', mounts: { 'pvc-1': {} }, listeners: {} },
};

function classTarget(): VolumeTarget & { readonly kind: 'class' } {
  const target = targetOf(aVolume(byClass));
  assert.equal(target?.kind, 'class');
  return target;
}

test('a volume with a class has a Listener called like its claim, one with a name has that one', () => {
  assert.deepEqual(targetOf(aVolume(byClass)), { kind: 'class', namespace: 'shop', name: 'data-web-0', className: 'public' });
  assert.deepEqual(targetOf(aVolume(byName)), { kind: 'named', namespace: 'shop', name: 'shared' });
});

test('a volume of another driver, unbound, or without attributes is about no Listener', () => {
  const other = aVolume(byName);
  assert.equal(targetOf({ ...other, spec: { ...other.spec, csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'x' } } }), undefined);
  assert.equal(
    targetOf({ ...other, spec: { csi: { driver: 'listeners.stackable.tech', volumeHandle: 'x', volumeAttributes: byName } } }),
    undefined,
  );
  assert.equal(targetOf(aVolume({})), undefined);
});

test('a mount is taken for what pod and volume say', () => {
  assert.deepEqual(checkMount(request, aPod(), aVolume(byClass)), { ok: true, pod: aPod(), volumes: ['listener'] });
});

test("an ephemeral volume's claim is called after pod and volume", () => {
  const pod = aPod({ volumes: [{ name: 'eph', ephemeral: {} }] });
  const volume = aVolume(byClass, { claimRef: { namespace: 'shop', name: 'web-0-eph', uid: 'c' } });
  assert.deepEqual(checkMount(request, pod, volume), { ok: true, pod, volumes: ['eph'] });
});

test('one claim may be mounted as several volumes of a pod', () => {
  const claim = { persistentVolumeClaim: { claimName: 'data-web-0' } };
  const pod = aPod({
    volumes: [
      { name: 'a', ...claim },
      { name: 'b', ...claim },
    ],
  });
  assert.deepEqual(checkMount(request, pod, aVolume(byClass)), { ok: true, pod, volumes: ['a', 'b'] });
});

for (const [name, pod, isForged] of [
  ['a pod on another node', aPod({ nodeName: 'n2' }), true],
  ['a pod that does not mount the volume', aPod({ volumes: [] }), false],
  ['a pod of another uid', { ...aPod(), metadata: { name: 'web-0', namespace: 'shop', uid: 'successor' } }, false],
  ['no pod', undefined, false],
] as const) {
  test(`a mount is refused for ${name}`, () => {
    const check = checkMount(request, pod, aVolume(byClass));
    assert.equal(check.ok, false);
    assert.equal(!check.ok && check.isForged, isForged);
  });
}

test("a claim of another namespace is not the pod's, whatever its name", () => {
  const volume = aVolume(byClass, { claimRef: { namespace: 'bank', name: 'data-web-0', uid: 'c' } });
  assert.equal(checkMount(request, aPod(), volume).ok, false);
});

test('the Listener of a volume has the ports of all containers, each number once, and of ports with one name the last keeps it', () => {
  const pod = aPod({
    containers: [
      {
        name: 'a',
        ports: [{ name: 'http', containerPort: 80 }, { containerPort: 9000 }, { name: 'dns', containerPort: 53, protocol: 'UDP' }],
      },
      {
        name: 'b',
        ports: [
          { name: 'http', containerPort: 81 },
          { name: 'dns', containerPort: 53, protocol: 'TCP' },
          { name: 'again', containerPort: 80 },
        ],
      },
    ],
    initContainers: [
      {
        name: 'proxy',
        restartPolicy: 'Always',
        ports: [
          { name: 'admin', containerPort: 15000 },
          { name: 'http', containerPort: 15001 },
        ],
      },
      { name: 'setup', ports: [{ name: 'gone', containerPort: 1 }] },
    ],
  });
  const listener = planVolumeListener(classTarget(), { volume: aVolume(byClass), claim: { metadata: { labels: { app: 'web' } } }, pod });
  assert.deepEqual(listener.spec.ports, [
    { name: 'port-80', port: 80, protocol: 'TCP' },
    { name: 'port-9000', port: 9000, protocol: 'TCP' },
    { name: 'port-53', port: 53, protocol: 'UDP' },
    { name: 'http', port: 81, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'TCP' },
    { name: 'admin', port: 15000, protocol: 'TCP' },
    { name: 'port-15001', port: 15001, protocol: 'TCP' },
  ]);
  assert.deepEqual(listener.metadata, {
    name: 'data-web-0',
    namespace: 'shop',
    labels: { app: 'web' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'PersistentVolume', name: 'pvc-1', uid: 'volume-uid' }],
  });
  assert.equal(listener.spec.className, 'public');
});

test('a Listener that has all that is wanted is left alone', () => {
  const wanted = planVolumeListener(classTarget(), {
    volume: aVolume(byClass),
    claim: { metadata: { labels: { app: 'web' } } },
    pod: aPod(),
  });
  const grown = { ...wanted, metadata: { ...wanted.metadata, labels: { app: 'web', more: 'x' } } };
  assert.ok(isListenerCurrent(wanted, grown));
  assert.ok(!isListenerCurrent(wanted, { ...grown, spec: { ...grown.spec, ports: [] } }));
  assert.ok(!isListenerCurrent(wanted, { ...grown, spec: { ...grown.spec, className: 'other' } }));
});

const place = {
  service: aService({ type: 'NodePort' }),
  node: aNode('n1', [{ type: 'InternalIP', address: '10.0.0.1' }]),
  nodeName: 'n1',
  preferredAddressType: 'HostnameConservative',
  volumeHandle: 'pvc-1',
} as const;

test("with node ports a pod receives its own node's address, before it has an endpoint", () => {
  const listener = { ...aListener(), status: { nodePorts: { http: 30080 }, ingressAddresses: [] } };
  assert.deepEqual(planEntry(listener, place), {
    entry: {
      scope: 'Node',
      volumeHandle: 'pvc-1',
      listenerUid: LISTENER_UID,
      ingressAddresses: [{ address: '10.0.0.1', addressType: 'IP', ports: { http: 30080 } }],
    },
  });
});

test("without node ports a pod receives the Listener's addresses", () => {
  const ingressAddresses = [{ address: 'lb.example', addressType: 'Hostname' as const, ports: { http: 80 } }];
  const planned = planEntry({ ...aListener(), status: { ingressAddresses } }, place);
  assert.deepEqual('entry' in planned && planned.entry.scope, 'Cluster');
  assert.deepEqual('entry' in planned && planned.entry.ingressAddresses, ingressAddresses);
});

test("a mount that waits repeats the Listener's own condition, Accepted before Ready", () => {
  const conditions = [
    { type: 'Ready', status: 'False' as const, reason: 'NotAccepted', message: 'no', lastTransitionTime: 'x' },
    {
      type: 'Accepted',
      status: 'False' as const,
      reason: 'ClassNotFound',
      message: 'ListenerClass y does not exist.',
      lastTransitionTime: 'x',
    },
  ];
  const planned = planEntry({ ...aListener(), status: { conditions } }, place);
  assert.deepEqual(planned, { waiting: { reason: 'ClassNotFound', message: 'Listener shop/web: ListenerClass y does not exist.' } });
});

test('a pod on a node without an address waits', () => {
  const listener = { ...aListener(), status: { nodePorts: { http: 30080 } } };
  const reason = (changes: object): unknown => {
    const planned = planEntry(listener, { ...place, ...changes });
    return 'waiting' in planned && planned.waiting.reason;
  };
  assert.equal(reason({ node: undefined }), 'NodeMissing');
  assert.equal(reason({ node: aNode('n1', []) }), 'NodeHasNoAddress');
});

test('a volume is pinned to the nodes of its affinity by our key and In alone', () => {
  const volume = aVolume(byClass, {
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          {
            matchExpressions: [
              { key: 'listeners.stackable.tech/hostname', operator: 'In', values: ['n1', 'n2'] },
              { key: 'listeners.stackable.tech/hostname', operator: 'NotIn', values: ['n3'] },
              { key: 'kubernetes.io/hostname', operator: 'In', values: ['n4'] },
            ],
          },
          {},
        ],
      },
    },
  });
  assert.deepEqual(pinnedNodesOf(volume), ['n1', 'n2']);
});
