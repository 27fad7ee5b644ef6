import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Listener, ListenerClass, PodListeners } from '../../../src/api/listeners/index.ts';
import { entryDigest } from '../../../src/api/listeners/entry-digest.ts';
import { DRIVER_NAME, LISTENER_CLASS_ANNOTATION } from '../../../src/api/listeners/names.ts';
import { explainClaim } from '../../../src/explain/exposure/explain-claim.ts';
import { explainClass } from '../../../src/explain/exposure/explain-class.ts';
import { explainListener } from '../../../src/explain/exposure/explain-listener.ts';
import { explainPod } from '../../../src/explain/exposure/explain-pod.ts';
import type { ClaimFacts, EventFacts, ListenerFacts, PodFacts } from '../../../src/explain/exposure/exposure-facts.ts';
import type { Explanation } from '../../../src/explain/step.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, Service, StorageClass } from '../../../src/kube/objects.ts';

const NOW = Date.parse('2030-01-01T01:00:00Z');
const LONG_AGO = '2030-01-01T00:00:00Z';

const condition = (type: string, status: 'True' | 'False', reason: string, message = `because of ${reason}`) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: LONG_AGO,
});
const internal: ListenerClass = { metadata: { name: 'internal' }, spec: { serviceType: 'ClusterIP' } };
const address = { address: '10.0.0.7', addressType: 'IP', ports: { http: 8080 } } as const;

function listenerWith(conditions: readonly ReturnType<typeof condition>[], more: Partial<Listener> = {}): Listener {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', generation: 2 },
    spec: { className: 'internal', ports: [{ name: 'http', port: 8080 }] },
    status: { observedGeneration: 2, conditions, ingressAddresses: [address], serviceName: 'web' },
    ...more,
  };
}

const works = [condition('Accepted', 'True', 'Accepted'), condition('Ready', 'True', 'AddressesAssigned')];
const pending = (reason: string, message?: string) => [
  condition('Accepted', 'True', 'Accepted'),
  condition('Ready', 'False', reason, message),
];
const rejected = [
  condition('Accepted', 'False', 'ServiceRejected', 'policy "no-services" denied it'),
  condition('Ready', 'False', 'NotAccepted'),
];
const owner = { apiVersion: `${DRIVER_NAME}/v1alpha1`, kind: 'Listener', name: 'web', uid: 'u1', controller: true };
const service: Service = { metadata: { name: 'web', namespace: 'shop', uid: 's1', ownerReferences: [owner] }, spec: { type: 'ClusterIP' } };
const balanced: Service = { ...service, spec: { type: 'LoadBalancer', loadBalancerClass: 'cloud' } };

function podNamed(name: string, more: Partial<Pod> = {}): Pod {
  return {
    metadata: { name, namespace: 'shop', uid: `uid-${name}`, creationTimestamp: LONG_AGO },
    spec: { nodeName: 'n1', containers: [] },
    status: { phase: 'Running', conditions: [condition('Ready', 'True', 'x')] },
    ...more,
  };
}

const unready = podNamed('web-0', {
  status: { phase: 'Running', conditions: [condition('Ready', 'False', 'x', 'containers with unready status: [main]')] },
});
/** On a node, and its volumes are not mounted yet. */
const mounting = podNamed('web-0', {
  status: {
    phase: 'Pending',
    conditions: [
      condition('PodReadyToStartContainers', 'False', 'x'),
      condition('Ready', 'False', 'x', 'containers with unready status: [main]'),
    ],
  },
});
const endpoint = (nodeName: string, ready: boolean) => ({ nodeName, conditions: { ready } });
const node = (name: string, more: Partial<Node> = {}): Node => ({
  metadata: { name },
  status: { addresses: [{ type: 'InternalIP', address: `10.1.0.${name.slice(1)}` }], conditions: [condition('Ready', 'True', 'x')] },
  ...more,
});
const warning = (reason: string, message: string, reporter = 'cloud'): EventFacts => ({
  type: 'Warning',
  reason,
  message,
  reporter,
  at: LONG_AGO,
});
const lease = { value: { key: 'earshot-system/earshot-controller', holder: 'earshot-controller-1', endsAt: NOW } };

function listenerFacts(more: Partial<ListenerFacts> = {}): ListenerFacts {
  return {
    now: NOW,
    lease,
    classes: { value: [internal] },
    listener: listenerWith(works),
    service: { value: service },
    serviceEvents: { value: [] },
    pods: { value: [podNamed('web-0')] },
    endpoints: { value: [{ metadata: {}, endpoints: [endpoint('n1', true)] }] },
    nodes: { value: [node('n1')] },
    ...more,
  };
}

/** Id, state and code of the cause, and its text. */
function causeOf({ cause }: Explanation): readonly [about: string, says: string] {
  return [`${cause?.id} ${cause?.state} ${cause?.code ?? ''}`.trim(), `${cause?.says} ${cause?.do ?? ''}`];
}

suite('the explanation of an exposed Listener', () => {
  const ofSet = { kind: 'StatefulSet', name: 'web', message: 'exceeded quota', since: LONG_AGO, listeners: [] } as const;
  const owned = (kind: string, name: string): Pod =>
    podNamed('web-0', {
      metadata: {
        name: 'web-0',
        labels: { 'pod-template-hash': '6d5f' },
        ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: 'x', controller: true }],
      },
    });
  for (const [title, workload, pod, warns] of [
    ['its StatefulSet', ofSet, owned('StatefulSet', 'web'), true],
    ['its Deployment', { ...ofSet, kind: 'Deployment' }, owned('ReplicaSet', 'web-6d5f'), true],
    ['another StatefulSet', ofSet, owned('StatefulSet', 'other'), false],
    ['a Deployment whose name begins with that of its own', { ...ofSet, kind: 'Deployment' }, owned('ReplicaSet', 'web-x-6d5f'), false],
  ] as const) {
    test(`with ready pods ${warns ? 'warns' : 'passes'} if the next pod of ${title} is refused`, () => {
      const { steps, verdict } = explainListener(listenerFacts({ pods: { value: [pod] }, workloads: { value: [workload] } }));
      assert.equal(verdict, warns ? 'warn' : 'pass');
      assert.deepEqual(
        steps.filter(({ state }) => state === 'warn').map(({ id, object }) => `${id} ${object}`),
        warns ? [`exposure.workloads ${workload.kind}/web`] : [],
      );
    });
  }

  test('without pods fails if a claim template that names it is of a workload whose pod is refused', () => {
    const { cause } = explainListener(listenerFacts({ pods: { value: [] }, workloads: { value: [{ ...ofSet, listeners: ['web'] }] } }));
    assert.deepEqual([cause?.id, cause?.object, cause?.code], ['exposure.workloads', 'StatefulSet/web', 'FailedCreate']);
  });

  test('keeps its warning without pods if workloads cannot be read', () => {
    const { steps } = explainListener(listenerFacts({ pods: { value: [] }, workloads: { unknown: 'you have no right' } }));
    assert.equal(steps.find(({ id }) => id === 'exposure.pods')?.state, 'warn');
  });

  test('passes from the controller to the pods', () => {
    const { verdict, steps } = explainListener(listenerFacts());
    assert.equal(verdict, 'pass');
    assert.deepEqual(
      steps.map(({ id, says }) => `${id}: ${says}`),
      [
        'exposure.controller: runs',
        'exposure.processed: this generation',
        'exposure.class: internal accepted',
        'exposure.service: ClusterIP, owned by this Listener',
        'exposure.pods: 1 selected',
        'exposure.endpoints: 1 of 1 pods ready',
        'exposure.addresses: 10.0.0.7, http 8080',
      ],
    );
  });

  test('warns if no replica leads after the controller has processed the Listener', () => {
    const { verdict, steps } = explainListener(listenerFacts({ lease: { value: { key: 'a/b', endsAt: NOW } } }));
    assert.equal(verdict, 'warn');
    assert.match(steps[0]?.says ?? '', /Lease a\/b has no holder\. Existing addresses stay\./);
  });

  const nodePort: Service = { ...service, spec: { type: 'NodePort', externalTrafficPolicy: 'Local' } };
  const down = node('n1', { status: { addresses: [], conditions: [condition('Ready', 'False', 'x', 'kubelet stopped')] } });
  const causes: readonly (readonly [title: string, facts: Partial<ListenerFacts>, about: string, says: RegExp])[] = [
    [
      'no replica holds the Lease',
      { listener: listenerWith([], { status: null }), lease: { value: { key: 'a/b', endsAt: NOW } } },
      'exposure.controller fail not-running',
      /Lease a\/b has no holder.*kubectl get pods/,
    ],
    [
      'the Lease has expired',
      { listener: listenerWith([], { status: null }), lease: { value: { key: 'a/b', holder: 'x', endsAt: NOW - 600_000 } } },
      'exposure.controller fail not-running',
      /expired at 2030-01-01T00:50:00/,
    ],
    [
      'the Lease has just expired and its holder is gone',
      {
        listener: listenerWith([], { status: null }),
        lease: { value: { key: 'a/b', holder: 'x', endsAt: NOW - 1_000, isAbandoned: true } },
      },
      'exposure.controller fail not-running',
      /Lease a\/b expired at 2030-01-01T00:59:59\.000Z, and its holder, Pod x, is gone/,
    ],
    [
      'the last change is not processed',
      { listener: listenerWith(works, { metadata: { name: 'web', namespace: 'shop', uid: 'u1', generation: 3 } }) },
      'exposure.processed wait listener-pending',
      /not processed/,
    ],
    [
      'the class is misspelt',
      { listener: listenerWith(pending('NotAccepted'), { spec: { className: 'intrenal' } }) },
      'exposure.class fail class-not-found',
      /ListenerClass intrenal does not exist.*Did you mean internal\?/,
    ],
    [
      'the class is misspelt and classes cannot be read',
      {
        classes: { unknown: 'you have no right to list' },
        listener: listenerWith([condition('Accepted', 'False', 'ClassNotFound', 'ListenerClass intrenal does not exist.')]),
      },
      'exposure.class fail class-not-found',
      /intrenal/,
    ],
    [
      'an admission policy refuses the Service',
      {
        listener: listenerWith([condition('Accepted', 'False', 'ServiceRejected', 'policy "no-services" denied it')]),
        service: { value: undefined },
      },
      'exposure.service fail service-rejected',
      /no-services/,
    ],
    [
      'the Service has another owner',
      { service: { value: { ...service, metadata: { name: 'web', namespace: 'shop' } } } },
      'exposure.service fail service-not-owned',
      /was not created for this Listener/,
    ],
    [
      'no pod is ready',
      { pods: { value: [unready] } },
      'exposure.endpoints fail pods-not-ready',
      /1 pod, 0 ready: web-0: containers with unready/,
    ],
    [
      'no controller serves the load balancer class',
      { service: { value: balanced }, listener: listenerWith(pending('LoadBalancerPending', 'It waits.')) },
      'exposure.addresses fail load-balancer-pending',
      /It waits\. Pending for 60 min, and no controller has touched it.*controller for the load balancer class cloud/,
    ],
    [
      'its only pod waits for the address of the load balancer',
      {
        service: { value: balanced },
        pods: { value: [mounting] },
        endpoints: { value: [] },
        listener: listenerWith(pending('LoadBalancerPending', 'It waits.')),
      },
      'exposure.addresses fail load-balancer-pending',
      /no controller has touched it/,
    ],
    [
      'a pod that has mounted its volumes fails while the Listener has no address',
      { service: { value: balanced }, pods: { value: [unready] }, listener: listenerWith(pending('LoadBalancerPending')) },
      'exposure.endpoints fail pods-not-ready',
      /web-0: containers with unready/,
    ],
    [
      'the load balancer reports a quota',
      {
        service: { value: balanced },
        serviceEvents: { value: [warning('SyncFailed', 'quota exceeded')] },
        listener: listenerWith(pending('LoadBalancerPending', 'It waits.')),
      },
      'exposure.addresses fail load-balancer-pending',
      /cloud reports SyncFailed: quota exceeded/,
    ],
    [
      'the node is down',
      { service: { value: nodePort }, nodes: { value: [down] }, listener: listenerWith(pending('NodeHasNoAddress')) },
      'exposure.nodes fail node-missing',
      /n1 is not Ready: kubelet stopped/,
    ],
    [
      'an address refuses the probe',
      { probes: [{ address: '10.0.0.7', port: 8080, result: 'refused', milliseconds: 1 }] },
      'exposure.probe fail refused',
      /10\.0\.0\.7, port 8080 refuses connections.*container listens on the Listener's port/,
    ],
    [
      'an address does not answer the probe',
      { probes: [{ address: '10.0.0.7', port: 8080, result: 'silent', milliseconds: 2_000 }] },
      'exposure.probe fail timeout',
      /does not answer.*firewalls/,
    ],
  ];
  for (const [title, facts, about, says] of causes) {
    test(`names the cause if ${title}`, () => {
      const [seen, text] = causeOf(explainListener(listenerFacts(facts)));
      assert.equal(seen, about);
      assert.match(text, says);
    });
  }

  test('waits for a load balancer that a controller works on', () => {
    const touched = { ...balanced, metadata: { ...service.metadata, managedFields: [{ manager: 'cloud-controller-manager' }] } };
    const listener = listenerWith([
      condition('Accepted', 'True', 'Accepted'),
      { ...condition('Ready', 'False', 'LoadBalancerPending'), lastTransitionTime: '2030-01-01T00:59:00Z' },
    ]);
    const { verdict } = explainListener(listenerFacts({ service: { value: touched }, listener }));
    assert.equal(verdict, 'wait');
  });

  test('warns of a node that is announced without a ready pod under the policy Local', () => {
    const listener = listenerWith(works, {
      status: {
        observedGeneration: 2,
        conditions: works,
        ingressAddresses: [{ address: '10.1.0.2', addressType: 'IP', ports: { http: 30_080 } }],
      },
    });
    const { verdict, steps } = explainListener(
      listenerFacts({ listener, service: { value: nodePort }, nodes: { value: [node('n1'), node('n2')] } }),
    );
    assert.equal(verdict, 'warn');
    assert.match(steps.find(({ id }) => id === 'exposure.local-traffic')?.says ?? '', /Node n2 is announced without a ready pod/);
    const { nodes: _, ...withoutNodes } = listenerFacts({ listener, service: { value: nodePort } });
    for (const facts of [withoutNodes, { ...withoutNodes, nodes: { unknown: 'no right' } }])
      assert.ok(explainListener(facts).steps.every(({ id }) => id !== 'exposure.local-traffic'));
  });

  test('has one unknown step for each missing right, and still finds the cause', () => {
    const unknown = { unknown: 'you have no right to list pods in the namespace shop' };
    const { verdict, steps } = explainListener(listenerFacts({ pods: unknown }));
    assert.equal(verdict, 'unknown');
    assert.deepEqual(
      steps.filter(({ state }) => state === 'unknown').map(({ id, says }) => [id, says]),
      [['exposure.pods', unknown.unknown]],
    );
  });
});

const storageClass: StorageClass = { metadata: { name: DRIVER_NAME }, provisioner: DRIVER_NAME };
const claim: PersistentVolumeClaim = {
  metadata: { name: 'data', namespace: 'shop', annotations: { [LISTENER_CLASS_ANNOTATION]: 'internal' } },
  spec: { storageClassName: DRIVER_NAME, volumeName: 'pvc-1' },
  status: { phase: 'Bound' },
};
const volume: PersistentVolume = {
  metadata: { name: 'pvc-1' },
  spec: {
    csi: { driver: DRIVER_NAME, volumeHandle: 'h1', volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: 'internal' } },
    claimRef: { namespace: 'shop', name: 'data' },
  },
};
const unbound = (annotations: Readonly<Record<string, string>>): ClaimFacts['claim'] => ({
  value: { ...claim, metadata: { ...claim.metadata, annotations }, status: { phase: 'Pending' } },
});

function claimFacts(more: Partial<ClaimFacts> = {}): ClaimFacts {
  const listener = listenerWith(works, { metadata: { name: 'data', namespace: 'shop', uid: 'u1', generation: 2 } });
  return {
    now: NOW,
    lease,
    classes: { value: [internal] },
    name: 'data',
    claim: { value: claim },
    storageClass: { value: storageClass },
    volume: { value: volume },
    claimEvents: { value: [] },
    listeners: { value: [listener] },
    ...more,
  };
}

suite('the explanation of a listener volume', () => {
  test('passes for a bound claim', () => assert.equal(explainClaim(claimFacts()).verdict, 'pass'));

  const causes: readonly (readonly [title: string, facts: Partial<ClaimFacts>, about: string, says: RegExp])[] = [
    [
      'its annotation is misspelt',
      { claim: unbound({ 'listeners.stackable.tech/listenerclass': 'internal' }) },
      'claim.annotation fail csi-claim',
      /listenerclass has no effect; did you mean listeners\.stackable\.tech\/listener-class\?/,
    ],
    [
      'its class is misspelt',
      { claim: unbound({ [LISTENER_CLASS_ANNOTATION]: 'intrenal' }) },
      'claim.annotation fail class-not-found',
      /did you mean internal\?/,
    ],
    [
      'another driver provisions its storage class',
      { storageClass: { value: { metadata: { name: DRIVER_NAME }, provisioner: 'disks' } } },
      'claim.storage-class fail',
      /provisioned by disks/,
    ],
    [
      'no volume can be created',
      {
        claim: unbound({ [LISTENER_CLASS_ANNOTATION]: 'internal' }),
        claimEvents: { value: [warning('ProvisioningFailed', 'quota exceeded')] },
      },
      'claim.bound fail provisioning-failed',
      /quota exceeded/,
    ],
    [
      'no pod mounts it yet',
      { claim: unbound({ [LISTENER_CLASS_ANNOTATION]: 'internal' }) },
      'claim.bound wait',
      /bound once a pod that mounts it is on a node/,
    ],
    [
      'its Listener has no address',
      { listeners: { value: [listenerWith(pending('LoadBalancerPending'), { metadata: { name: 'data', namespace: 'shop' } })] } },
      'claim.listener fail load-balancer-pending',
      /earshot explain listeners\.listeners\.stackable\.tech data/,
    ],
    [
      'its Listener is not accepted',
      { listeners: { value: [listenerWith(rejected, { metadata: { name: 'data', namespace: 'shop' } })] } },
      'claim.listener fail service-rejected',
      /no-services/,
    ],
  ];
  for (const [title, facts, about, says] of causes) {
    test(`names the cause if ${title}`, () => {
      const [seen, text] = causeOf(explainClaim(claimFacts(facts)));
      assert.equal(seen, about);
      assert.match(text, says);
    });
  }

  test('assumes that classes and Listeners exist that cannot be read', () => {
    const denied = { unknown: 'you have no right' };
    const { steps } = explainClaim(claimFacts({ classes: denied, listeners: denied }));
    assert.equal(steps.find(({ id }) => id === 'claim.annotation')?.state, 'pass');
  });
});

const answered: PodListeners = {
  metadata: { name: 'pod-uid-web-0', namespace: 'shop' },
  spec: { nodeName: 'n1', mounts: { h1: {} }, listeners: { data: { scope: 'Cluster', ingressAddresses: [address], volumeHandle: 'h1' } } },
};

function podFacts(more: Partial<PodFacts> = {}): PodFacts {
  return {
    now: NOW,
    lease,
    classes: { value: [internal] },
    pod: podNamed('web-0'),
    claims: [claimFacts()],
    podEvents: { value: [] },
    csiNode: { value: { metadata: { name: 'n1' }, spec: { drivers: [{ name: DRIVER_NAME }] } } },
    podListeners: { value: answered },
    ...more,
  };
}

suite('the explanation of a pod with listener volumes', () => {
  test('passes from its claims to its files', () => assert.equal(explainPod(podFacts()).verdict, 'pass'));

  const starting = podNamed('web-0', { status: { phase: 'Pending' } });
  const unscheduled = podNamed('web-0', {
    spec: { containers: [] },
    status: { phase: 'Pending', conditions: [condition('PodScheduled', 'False', 'Unschedulable', '0/2 nodes are available')] },
  });
  const pinned: PersistentVolume = {
    ...volume,
    spec: {
      ...volume.spec,
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: `${DRIVER_NAME}/hostname`, operator: 'In', values: ['n2'] }] }] },
      },
    },
  };
  const causes: readonly (readonly [title: string, facts: Partial<PodFacts>, about: string, says: RegExp])[] = [
    [
      'an annotation of its claim is misspelt',
      { pod: unscheduled, claims: [claimFacts({ claim: unbound({ 'listeners.stackable.tech/listener-clas': 'internal' }) })] },
      'claim.annotation fail csi-claim',
      /did you mean listeners\.stackable\.tech\/listener-class\?/,
    ],
    ['no node is suitable', { pod: unscheduled }, 'pod.node fail', /0\/2 nodes are available.*make room on a node/],
    [
      'no node is suitable, and its volume is pinned',
      { pod: unscheduled, claims: [claimFacts({ volume: { value: pinned } })] },
      'pod.node fail',
      /^data is pinned to n2\. The pod has no node: 0\/2 nodes are available.*kubectl uncordon/,
    ],
    [
      'no replica of the controller leads while its mount waits',
      { pod: starting, podListeners: { value: undefined }, lease: { value: { key: 'a/b', endsAt: NOW } } },
      'exposure.controller fail not-running',
      /Lease a\/b has no holder/,
    ],
    [
      'its volume is pinned elsewhere',
      { claims: [claimFacts({ volume: { value: pinned } })] },
      'pod.node fail',
      /on node n1, but data is pinned to n2/,
    ],
    [
      'the driver does not run on its node',
      { pod: starting, csiNode: { value: { metadata: { name: 'n1' } } } },
      'pod.driver fail',
      /not registered on node n1/,
    ],
    [
      'the mount fails before the driver is asked',
      { pod: starting, podListeners: { value: undefined }, podEvents: { value: [warning('FailedMount', 'driver not found')] } },
      'pod.request fail FailedMount',
      /driver not found The kubelet tries again/,
    ],
    [
      'the mount waits for a load balancer',
      {
        pod: starting,
        claims: [claimFacts({ listeners: { unknown: 'no right' } })],
        podListeners: {
          value: {
            ...answered,
            spec: { nodeName: 'n1', mounts: { h1: {} }, listeners: {} },
            status: { mounts: { h1: { reason: 'LoadBalancerPending', message: 'no address yet' } } },
          },
        },
      },
      'pod.mount fail load-balancer-pending',
      /no address yet/,
    ],
    [
      'its files have other addresses than the Listener',
      {
        podListeners: {
          value: {
            ...answered,
            spec: {
              nodeName: 'n1',
              mounts: { h1: {} },
              listeners: { data: { scope: 'Cluster', ingressAddresses: [], volumeHandle: 'h1' } },
            },
          },
        },
      },
      'pod.mount wait',
      /its Listener has other addresses now/,
    ],
    [
      'its files have earlier addresses',
      { driverVolumes: { value: [{ pod: 'uid-web-0', volume: 'h1', hash: 'old', writtenAt: '2030-01-01T00:00:00Z', isStale: false }] } },
      'pod.files wait',
      /earlier addresses, written at 2030-01-01T00:00:00Z/,
    ],
    [
      'its files cannot be written',
      { driverVolumes: { value: [{ pod: 'uid-web-0', volume: 'h1', hash: 'old', isStale: true }] } },
      'pod.files fail',
      /could not be updated/,
    ],
    [
      'the kubelet cannot mount',
      { pod: starting, podEvents: { value: [warning('FailedMount', 'permission denied')] } },
      'pod.mounted fail FailedMount',
      /permission denied/,
    ],
  ];
  for (const [title, facts, about, says] of causes) {
    test(`names the cause if ${title}`, () => {
      const [seen, text] = causeOf(explainPod(podFacts(facts)));
      assert.equal(seen, about);
      assert.match(text, says);
    });
  }

  test('says since when its files are current, and is unknown without an answer of the driver', () => {
    const entry = answered.spec.listeners['data'] ?? assert.fail('no entry');
    const current = { pod: 'uid-web-0', volume: 'h1', hash: entryDigest(entry), writtenAt: '2030-01-01T00:00:00Z', isStale: false };
    const filesOf = (driverVolumes: PodFacts['driverVolumes']) =>
      explainPod(podFacts(driverVolumes === undefined ? {} : { driverVolumes })).steps.find(({ id }) => id === 'pod.files');
    assert.equal(filesOf({ value: [current] })?.says, 'data is current since 2030-01-01T00:00:00Z');
    assert.equal(filesOf({ unknown: 'the node driver did not answer within 2 s' })?.state, 'unknown');
    assert.equal(filesOf(undefined), undefined);
  });

  test('is short for a pod without listener volumes', () => {
    const { verdict, steps } = explainPod(podFacts({ claims: [] }));
    assert.deepEqual([verdict, steps.map(({ says }) => says)], ['pass', ['it mounts no listener volume']]);
  });
});

suite('the explanation of a ListenerClass', () => {
  const external: ListenerClass = { metadata: { name: 'external' }, spec: { serviceType: 'LoadBalancer', loadBalancerClass: 'cloud' } };
  const facts = (listenerClass: ListenerClass, services: readonly Service[] = []) => ({
    now: NOW,
    lease,
    classes: { value: [listenerClass] },
    listenerClass,
    listeners: { value: [listenerWith(works), listenerWith(pending('LoadBalancerPending'))] },
    services: { value: services },
  });

  test('counts its Listeners that are not ready by reason', () => {
    const { steps } = explainClass(facts(internal));
    assert.match(steps.find(({ id }) => id === 'class.listeners')?.says ?? '', /1 of 2 Listeners are not ready: LoadBalancerPending \(1\)/);
  });

  test('fails for a type that is not supported, and for a load balancer that serves none of its Services', () => {
    const route: ListenerClass = { metadata: { name: 'route' }, spec: { serviceType: 'OpenShiftRoute' } };
    assert.equal(causeOf(explainClass(facts(route)))[0], 'class.type fail unsupported-service-type');
    assert.equal(causeOf(explainClass(facts(external, [balanced])))[0], 'class.load-balancer fail load-balancer-pending');
    const served = { ...balanced, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    assert.equal(explainClass(facts(external, [served])).cause, undefined);
  });
});
