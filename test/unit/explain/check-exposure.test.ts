import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DRIVER_NAME } from '../../../src/api/listeners/names.ts';
import { checkExposure } from '../../../src/explain/gather/check-exposure.ts';
import type { ExplainPlace } from '../../../src/explain/gather/explainable-kind.ts';
import { linesOf } from '../../../src/explain/report.ts';
import { clusterOf, type ClusterContent, type Stored } from './support-cluster.ts';

const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: reason,
  lastTransitionTime: '2030-01-01T00:00:00Z',
});

function listener(name: string, reason: string, observedGeneration = 1): Stored {
  const isReady = reason === 'AddressesAssigned';
  return {
    metadata: { name, namespace: 'shop', uid: name, generation: 1 },
    spec: { className: 'internal', ports: [{ name: 'http', port: 80 }] },
    status: {
      observedGeneration,
      ingressAddresses: [],
      conditions: [condition('Accepted', 'True', 'Accepted'), condition('Ready', isReady ? 'True' : 'False', reason)],
    },
  };
}

const ownerOf = (name: string) => ({
  apiVersion: 'listeners.stackable.tech/v1alpha1',
  kind: 'Listener',
  name,
  uid: name,
  controller: true,
});
const pod = (name: string, claimName: string): Stored => ({
  metadata: { name, namespace: 'shop', uid: name },
  spec: { containers: [], volumes: [{ name: 'a', persistentVolumeClaim: { claimName } }] },
});
const claim = (name: string, storageClassName: string): Stored => ({
  metadata: { name, namespace: 'shop', annotations: { 'listeners.stackable.tech/listenerclass': 'internal' } },
  spec: { storageClassName },
});

async function checked(content: ClusterContent): Promise<Awaited<ReturnType<typeof checkExposure>>> {
  // Only the reads of a client and access reviews are used.
  const client = clusterOf(content) as unknown as NonNullable<ExplainPlace['cluster']>['client'];
  return checkExposure({ cluster: { client, namespace: 'shop' }, probe: false, site: undefined as never });
}

const lease = { holderIdentity: 'controller-1', renewTime: new Date().toISOString(), leaseDurationSeconds: 15 };
const objects = {
  leases: [{ metadata: { name: 'earshot-controller', namespace: 'earshot-system' }, spec: lease }],
  listenerclasses: [{ metadata: { name: 'internal' }, spec: { serviceType: 'ClusterIP' } }],
  listeners: [listener('good', 'AddressesAssigned'), listener('bad', 'NodeMissing')],
  pods: [pod('typo', 'data'), pod('other', 'disk')],
  persistentvolumeclaims: [claim('data', DRIVER_NAME), { ...claim('disk', 'disks'), metadata: { name: 'disk', namespace: 'shop' } }],
};

test('each exposed Listener and each pod with listener volumes is explained, and no other pod', async () => {
  const { objects: all } = await checked({ objects });
  assert.deepEqual(
    all.map(({ object, cause }) => `${object} ${cause?.id ?? ''}`.trim()),
    ['Listener/good exposure.service', 'Listener/bad exposure.addresses', 'Pod/typo claim.annotation'],
  );
});

test('objects that nothing reconciles have one cause in common', async () => {
  const { objects: all } = await checked({
    objects: { ...objects, listeners: [listener('a', '', 0), listener('b', '', 0)], pods: [], leases: [] },
  });
  assert.deepEqual(
    all.map(({ cause }) => `${cause?.object} ${cause?.code}`),
    ['Lease/earshot-controller not-running', 'Lease/earshot-controller not-running'],
  );
});

test('a missing class is one cause for the Listeners and the pods of claims that name it', async () => {
  const annotations = { 'listeners.stackable.tech/listener-class': 'gone' };
  const { objects: all } = await checked({
    objects: {
      ...objects,
      listeners: [{ ...listener('a', 'AddressesAssigned'), spec: { className: 'gone' } }],
      pods: [pod('web', 'data')],
      persistentvolumeclaims: [{ metadata: { name: 'data', namespace: 'shop', annotations }, spec: { storageClassName: DRIVER_NAME } }],
    },
  });
  assert.deepEqual(
    all.map(({ object, cause }) => `${object}: ${cause?.object} ${cause?.code}`),
    ['Listener/a: ListenerClass/gone class-not-found', 'Pod/web: ListenerClass/gone class-not-found'],
  );
});

test('a controller that no longer leads is a finding where all objects are served', async () => {
  const stopped = { metadata: { name: 'earshot-controller', namespace: 'earshot-system' }, spec: { holderIdentity: '' } };
  const served = { metadata: { name: 'good', namespace: 'shop', ownerReferences: [ownerOf('good')] } };
  const content = { ...objects, listeners: [listener('good', 'AddressesAssigned')], services: [served], pods: [], leases: [stopped] };
  const { objects: all, findings } = await checked({ objects: content });
  assert.deepEqual(
    findings.map(({ object, state, code }) => `${object} ${state} ${code}`),
    ['Lease/earshot-controller fail not-running'],
  );
  assert.deepEqual(
    linesOf({ objects: all, findings }).warnings.filter(({ object }) => object === 'Lease/earshot-controller'),
    [],
  );
});

test('a Listener without an address, and the pod that waits for it, have one cause in common', async () => {
  const annotations = { 'listeners.stackable.tech/listener-name': 'bad' };
  const csi = { driver: DRIVER_NAME, volumeHandle: 'h', volumeAttributes: annotations };
  const bound = {
    metadata: { name: 'data', namespace: 'shop', annotations },
    spec: { storageClassName: DRIVER_NAME, volumeName: 'v' },
    status: { phase: 'Bound' },
  };
  const { objects: all } = await checked({
    objects: {
      ...objects,
      listeners: [listener('bad', 'NodeMissing')],
      services: [{ metadata: { name: 'bad', namespace: 'shop', ownerReferences: [ownerOf('bad')] } }],
      pods: [{ ...pod('web', 'data'), spec: { nodeName: 'n1', volumes: [{ name: 'a', persistentVolumeClaim: { claimName: 'data' } }] } }],
      persistentvolumeclaims: [bound],
      persistentvolumes: [{ metadata: { name: 'v' }, spec: { csi, claimRef: { namespace: 'shop', name: 'data' } } }],
      storageclasses: [{ metadata: { name: DRIVER_NAME }, provisioner: DRIVER_NAME }],
      csinodes: [{ metadata: { name: 'n1' }, spec: { drivers: [{ name: DRIVER_NAME }] } }],
    },
  });
  assert.deepEqual(
    all.map(({ object, cause }) => `${object}: ${cause?.object} ${cause?.code}`),
    ['Listener/bad: Listener/bad node-missing', 'Pod/web: Listener/bad node-missing'],
  );
});

test('nodes without the driver, a missing definition, a missing right and Pod Security are findings', async () => {
  const { findings } = await checked({
    objects: {
      ...objects,
      namespaces: [{ metadata: { name: 'earshot-system', labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } }],
      csinodes: [
        { metadata: { name: 'n1' }, spec: { drivers: [{ name: DRIVER_NAME }] } },
        { metadata: { name: 'n2' }, spec: { drivers: [] } },
      ],
    },
    denied: ['services'],
    undefinedKinds: ['podlisteners'],
  });
  assert.deepEqual(
    findings.map(({ id, state, says }) => `${id} ${state} ${says.slice(0, 60)}`),
    [
      'check.definitions fail the definition of podlisteners.listeners.stackable.tech is n',
      'check.rights unknown your user may not list services in the namespace shop',
      'check.drivers warn the driver is not registered on 1 of 2 nodes, where no pod w',
      'check.pod-security warn the namespace enforces the Pod Security level baseline, whic',
    ],
  );
});

for (const [title, content, drivers] of [
  ['of its name', {}, 'daemonset/shop-node'],
  ['with its label, if it cannot be read', { denied: ['daemonsets'] }, 'daemonset -l app.kubernetes.io/component=node'],
] as const) {
  test(`advice about Pod Security restarts the DaemonSet ${title}, which pauses after refusals`, async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    const daemonset = { metadata: { name: 'shop-node', namespace: 'earshot-system', labels: { 'app.kubernetes.io/component': 'node' } } };
    const namespaces = [{ metadata: { name: 'earshot-system', labels } }];
    const { findings } = await checked({ objects: { ...objects, namespaces, daemonsets: [daemonset] }, ...content });
    assert.equal(
      findings.find(({ id }) => id === 'check.pod-security')?.do,
      `kubectl label --overwrite namespace earshot-system pod-security.kubernetes.io/enforce=privileged && kubectl rollout restart ${drivers} -n earshot-system`,
    );
  });
}

test('a namespace without an exposed object shows that the controller leads', async () => {
  const { objects: all, findings } = await checked({ objects: { leases: objects.leases } });
  assert.deepEqual([all, findings.map(({ state, says }) => `${state} ${says}`)], [[], ['pass controller-1 leads']]);
});

test('a cluster without the exposure half has nothing to check', async () => {
  const nothing = await checked({ objects, undefinedKinds: ['listenerclasses', 'listeners', 'podlisteners'] });
  assert.deepEqual(nothing, { isInstalled: false, objects: [], findings: [] });
});

const ofExposure = ['listenerclasses', 'listeners', 'podlisteners'];
const installed = { storageclasses: [{ metadata: { name: DRIVER_NAME }, provisioner: DRIVER_NAME }] };
for (const [title, content, says] of [
  ['the exposure half', { objects: installed, undefinedKinds: ofExposure }, /^The exposure controller has never run/],
  ['Earshot', { objects: {}, undefinedKinds: [...ofExposure, 'sites'] }, /^Earshot has never run/],
] as const) {
  test(`a cluster in which no controller of ${title} ever ran fails, and its namespaces are not taken for sites`, async () => {
    const { isInstalled, findings } = await checked(content);
    assert.equal(isInstalled, true);
    assert.deepEqual(
      findings.map(({ object, state }) => `${object} ${state}`),
      ['Lease/earshot-controller fail'],
    );
    assert.match(findings[0]?.says ?? '', says);
  });
}

test('pods beyond a thousand are not explained, which is a finding', async () => {
  const many = Array.from({ length: 1_001 }, (_, at) => pod(`p${at}`, 'data'));
  const { objects: all, findings } = await checked({ objects: { ...objects, listeners: [], pods: many } });
  assert.deepEqual([all.length, findings.map(({ says }) => says)], [1_000, ['only 1000 of 1001 pods are examined']]);
});

const quota = 'create Claim listener-web-1 for Pod web-1 in StatefulSet web failed: exceeded quota: claims';
const stateful = (replicas: number, template: object): Stored => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'sts' },
  spec: { replicas: 2, template: {}, ...template },
  status: { replicas },
});
const withClaims = { volumeClaimTemplates: [{ ...claim('listener', DRIVER_NAME), metadata: { name: 'listener' } }] };
const created = (reason: string, minute: string, message = 'x', uid = 'sts'): Stored => ({
  metadata: { name: `web.${minute}`, namespace: 'shop' },
  reason,
  message,
  involvedObject: { kind: 'StatefulSet', name: 'web', uid },
  lastTimestamp: `2030-01-01T00:${minute}:00Z`,
});
const deployment = (template: object, message = quota): Stored => ({
  metadata: { name: 'api', namespace: 'shop', uid: 'deployment' },
  spec: { template: { spec: template } },
  status: { conditions: [{ ...condition('ReplicaFailure', 'True', 'FailedCreate'), message }] },
});
const ephemeral = { volumes: [{ name: 'a', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: DRIVER_NAME } } } }] };

for (const [title, workloads, expected] of [
  [
    'a StatefulSet whose next claim a quota refuses',
    { statefulsets: [stateful(1, withClaims)], events: [created('SuccessfulCreate', '01'), created('FailedCreate', '02', quota)] },
    [`fail StatefulSet/web StatefulSet web cannot create its next pod: ${quota}`],
  ],
  [
    'a StatefulSet that created its pod after a refusal',
    { statefulsets: [stateful(1, withClaims)], events: [created('FailedCreate', '01', quota), created('SuccessfulCreate', '02')] },
    [],
  ],
  ['a StatefulSet with all its pods', { statefulsets: [stateful(2, withClaims)], events: [created('FailedCreate', '01', quota)] }, []],
  [
    'a StatefulSet whose earlier one of that name was refused',
    { statefulsets: [stateful(1, withClaims)], events: [created('FailedCreate', '01', quota, 'earlier')] },
    [],
  ],
  ['a StatefulSet without a listener volume', { statefulsets: [stateful(1, {})], events: [created('FailedCreate', '01', quota)] }, []],
  [
    'a Deployment with ephemeral volumes',
    { deployments: [deployment(ephemeral)] },
    [`fail Deployment/api Deployment api cannot create its next pod: ${quota}`],
  ],
  [
    'a Deployment that mounts a claim',
    { deployments: [deployment({ volumes: [{ name: 'a', persistentVolumeClaim: { claimName: 'data' } }] })] },
    [`fail Deployment/api Deployment api cannot create its next pod: ${quota}`],
  ],
  ['a Deployment without a listener volume', { deployments: [deployment({})] }, []],
] as const) {
  test(`a refused pod of ${title} is ${expected.length === 0 ? 'no' : 'one'} finding`, async () => {
    const { findings } = await checked({ objects: { ...objects, listeners: [], pods: [], ...workloads } });
    assert.deepEqual(
      findings.filter(({ state }) => state === 'fail').map(({ state, object, says }) => `${state} ${object} ${says}`),
      expected,
    );
  });
}

test('a refused pod is reported once, with the Listener that its workload alone would serve', async () => {
  const named = { metadata: { name: 'listener', annotations: { 'listeners.stackable.tech/listener-name': 'good' } }, spec: {} };
  const content = {
    ...objects,
    listeners: [listener('good', 'AddressesAssigned')],
    services: [{ metadata: { name: 'good', namespace: 'shop', ownerReferences: [ownerOf('good')] }, spec: { selector: { app: 'web' } } }],
    pods: [],
    statefulsets: [stateful(0, { volumeClaimTemplates: [named] })],
    events: [created('FailedCreate', '02', quota)],
  };
  const { objects: all, findings } = await checked({ objects: content });
  assert.deepEqual(
    all.map(({ object, cause }) => `${object} ${cause?.object} ${cause?.code}`),
    ['Listener/good StatefulSet/web FailedCreate'],
  );
  assert.deepEqual(findings, []);
});
