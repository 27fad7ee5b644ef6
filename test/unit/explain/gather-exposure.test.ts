import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { API_VERSION } from '../../../src/api/listeners/names.ts';
import { explainListener } from '../../../src/explain/exposure/explain-listener.ts';
import { gatherClaim, gatherCommon, gatherListener, gatherPod, type ExposurePlace } from '../../../src/explain/gather/gather-exposure.ts';
import type { PodAccess } from '../../../src/kube/contract.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import { clusterOf, type ClusterContent, type Stored } from './support-cluster.ts';

const listener = (port = 8080): Stored => ({
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', generation: 1 },
  spec: { className: 'internal', ports: [{ name: 'http', port }] },
  status: {
    observedGeneration: 1,
    conditions: [{ type: 'Ready', status: 'True', reason: 'AddressesAssigned', message: 'x', lastTransitionTime: '2030-01-01T00:00:00Z' }],
    ingressAddresses: [{ address: '127.0.0.1', addressType: 'IP', ports: { http: port } }],
  },
});

test('a missing right is one unknown fact that names verb, resource and namespace', async () => {
  const client = clusterOf({
    objects: { listeners: [listener()], endpointslices: [{ metadata: {}, endpoints: null }] },
    denied: ['leases', 'listenerclasses', 'services'],
  });
  const facts = await gatherListener({ client, namespace: 'shop', probe: false }, 'web');
  assert.ok(facts !== undefined);
  assert.deepEqual(
    [facts.lease, facts.classes, facts.service, facts.pods],
    [
      { unknown: 'you have no right to list leases.coordination.k8s.io in the cluster' },
      { unknown: 'you have no right to list listenerclasses.listeners.stackable.tech in the cluster' },
      { unknown: 'you have no right to get services in the namespace shop' },
      { value: [] },
    ],
  );
});

test('an object that does not exist has no facts', async () => {
  const place: ExposurePlace = { client: clusterOf({ objects: {} }), namespace: 'shop', probe: false };
  assert.equal(await gatherListener(place, 'web'), undefined);
  assert.equal(await gatherPod(place, 'web'), undefined);
});

test('a PodListeners object that does not match its definition is an unknown fact', async () => {
  const pod: Stored = { metadata: { name: 'web', namespace: 'shop', uid: 'u2' }, spec: { containers: [], volumes: [] } };
  const request: Stored = { metadata: { name: 'pod-u2', namespace: 'shop' }, spec: { listeners: 7 } };
  const client = clusterOf({ objects: { pods: [pod], podlisteners: [request] } });
  const found = await gatherPod({ client, namespace: 'shop', probe: false }, 'web');
  assert.match(
    JSON.stringify(found?.podListeners),
    /^\{"unknown":"PodListeners pod-u2 does not match the current definitions: spec\.listeners/,
  );
});

test('a probe distinguishes a port that accepts from one that refuses', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an address of this type.
  const { port } = server.address() as AddressInfo;
  const place: ExposurePlace = { client: clusterOf({ objects: { listeners: [listener(port)] } }), namespace: 'shop', probe: true };
  const statesOf = async (): Promise<readonly string[]> => {
    const facts = await gatherListener(place, 'web');
    assert.ok(facts !== undefined);
    return explainListener({ ...facts, classes: { unknown: '' } })
      .steps.filter(({ id }) => id === 'exposure.probe')
      .map(({ state, code = '' }) => `${state} ${code}`);
  };
  assert.deepEqual(await statesOf(), ['pass ']);
  server.close();
  await once(server, 'close');
  assert.deepEqual(await statesOf(), ['fail refused']);
});

test('a pod has the facts of its listener claims, and of no other claim', async () => {
  const claim = (name: string, storageClassName: string): Stored => ({
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    spec: { storageClassName },
  });
  const pod: Stored = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u2' },
    spec: {
      containers: [],
      volumes: [
        { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'b', ephemeral: {} },
      ],
    },
  };
  const objects = {
    pods: [pod],
    persistentvolumeclaims: [claim('data', 'disks'), claim('web-b', 'listeners.stackable.tech')],
    events: [
      {
        metadata: {},
        type: 'Warning',
        reason: 'FailedMount',
        message: 'line\nbreak',
        involvedObject: { uid: 'u2' },
        lastTimestamp: '2030-01-01T00:00:00Z',
      },
      { metadata: {}, type: 'Warning', reason: 'Old', message: 'of an earlier pod', involvedObject: { uid: 'u1' } },
    ],
  };
  const facts = await gatherPod({ client: clusterOf({ objects }), namespace: 'shop', probe: false }, 'web');
  assert.deepEqual(
    facts?.claims.map(({ name }) => name),
    ['web-b'],
  );
  assert.ok(facts !== undefined && 'value' in facts.podEvents);
  assert.deepEqual(
    facts.podEvents.value.map(({ message }) => message),
    ['line break'],
  );
});

test('a volume that is bound to a claim of another namespace gives no facts, whatever the claim names', async () => {
  const claimOf = (name: string, volumeName: string): Stored => ({
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    spec: { storageClassName: 'listeners.stackable.tech', volumeName },
  });
  const volumeOf = (name: string, namespace: string, claim: string): Stored => ({
    metadata: { name },
    spec: { claimRef: { namespace, name: claim } },
  });
  const objects = {
    persistentvolumeclaims: [claimOf('own', 'pv-own'), claimOf('foreign', 'pv-payroll'), claimOf('other', 'pv-own')],
    persistentvolumes: [volumeOf('pv-own', 'shop', 'own'), volumeOf('pv-payroll', 'payroll', 'foreign')],
  };
  const place: ExposurePlace = { client: clusterOf({ objects }), namespace: 'shop', probe: false };
  const found = await Promise.all(['own', 'foreign', 'other'].map((name) => gatherClaim(place, name)));
  assert.deepEqual(
    found.map((facts) => facts?.volume),
    [{ value: objects.persistentvolumes[0] }, { value: undefined }, { value: undefined }],
  );
});

test('the account of a console names itself where it lacks a right, and reads no nodes', async () => {
  const objects = {
    listeners: [listener()],
    endpointslices: [{ metadata: {}, endpoints: [{ nodeName: 'n1' }] }],
    nodes: [{ metadata: { name: 'n1' } }],
  };
  const client = clusterOf({ objects, denied: ['services'] });
  const facts = await gatherListener({ client, namespace: 'shop', probe: false, isConsole: true }, 'web');
  assert.deepEqual(
    [facts?.service, facts?.nodes],
    [{ unknown: "the console's account has no right to get services in the namespace shop" }, undefined],
  );
  const ofUser = await gatherListener({ client, namespace: 'shop', probe: false }, 'web');
  assert.deepEqual(ofUser?.nodes, { value: objects.nodes });
});

test('the controller is that of the Lease renewed last: an earlier installation leaves its own in another namespace', async () => {
  const lease = (namespace: string, holderIdentity: string, renewTime: string): Stored => ({
    metadata: { name: 'earshot-controller', namespace },
    spec: { holderIdentity, renewTime, leaseDurationSeconds: 15 },
  });
  const leases = [
    lease('before', '', '2030-01-01T00:00:00Z'),
    lease('now', 'controller-1', '2030-01-02T00:00:00Z'),
    { metadata: { name: 'earshot-controller', namespace: 'odd' } },
  ];
  const facts = await gatherCommon({ client: clusterOf({ objects: { leases } }), namespace: 'shop', probe: false });
  assert.deepEqual(facts.lease, {
    value: { key: 'now/earshot-controller', holder: 'controller-1', endsAt: Date.parse('2030-01-02T00:00:15Z') },
  });
});

suite('volumes that the driver of the node reports', () => {
  const driver = { metadata: { name: 'earshot-node-1', namespace: 'earshot-system' } };
  const objects = {
    leases: [{ metadata: { name: 'earshot-controller', namespace: 'earshot-system' } }],
    pods: [{ metadata: { name: 'web', namespace: 'shop', uid: 'u2' }, spec: { nodeName: 'n1', containers: [], volumes: [] } }, driver],
  };
  const volumesFrom = async (getFromPod: PodAccess['getFromPod'], denied: readonly string[] = []) => {
    const client = { ...clusterOf({ objects, denied }), getFromPod };
    return (await gatherPod({ client, namespace: 'shop', probe: false }, 'web'))?.driverVolumes;
  };

  test('are read through the API server, with bounded text', async () => {
    const asked: unknown[] = [];
    const found = await volumesFrom(async (key, { port, page }) => {
      asked.push(key, port, page);
      return JSON.stringify({ items: [{ pod: 'u2', volume: 'h\u202e', hash: 'x', writtenAt: 7, stale: 1 }, 'none'] });
    });
    assert.deepEqual(asked, [{ namespace: 'earshot-system', name: 'earshot-node-1' }, 8081, 'v1/volumes']);
    assert.deepEqual(found, { value: [{ pod: 'u2', volume: 'h\\u{202e}', hash: 'x', isStale: false }] });
  });

  test('are left out without the right to ask it, and unknown if it is of an earlier version', async () => {
    const forbidden = new ApiError('GET', { status: 403, reason: 'Forbidden', message: 'pods/proxy is forbidden' });
    assert.equal(await volumesFrom(() => Promise.reject(forbidden)), undefined);
    assert.equal(await volumesFrom(() => Promise.resolve('{}'), ['leases']), undefined);
    const old = await volumesFrom(() => Promise.resolve('not found; this port serves /metrics'));
    assert.deepEqual(old, { unknown: 'the node driver cannot be read: this version does not list its volumes' });
  });
});

suite('an exposure controller that was uninstalled a moment ago', () => {
  const spec = { holderIdentity: 'controller-1', leaseDurationSeconds: 13 };
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
  const leaseOf = (seconds: number): Stored => ({
    metadata: { name: 'earshot-controller', namespace: 'earshot-system' },
    spec: { ...spec, renewTime: ago(seconds) },
  });
  const holder: Stored = { metadata: { name: 'controller-1', namespace: 'earshot-system' }, spec: {} };
  const cases: readonly (readonly [when: string, content: ClusterContent, isConsole: boolean, isAbandoned: boolean])[] = [
    ['its Lease has expired and its pod is gone', { objects: { leases: [leaseOf(20)] } }, false, true],
    ['its pod exists', { objects: { leases: [leaseOf(20)], pods: [holder] } }, false, false],
    ['its Lease has not expired', { objects: { leases: [leaseOf(1)] } }, false, false],
    ['its pod cannot be read', { objects: { leases: [leaseOf(20)] }, denied: ['pods'] }, false, false],
    ['a console may not read its pod', { objects: { leases: [leaseOf(20)] } }, true, false],
  ];
  for (const [when, content, isConsole, isAbandoned] of cases) {
    test(`${isAbandoned ? 'does not lead' : 'may lead'} if ${when}`, async () => {
      const { lease } = await gatherCommon({ client: clusterOf(content), namespace: 'shop', probe: false, isConsole });
      assert.equal('value' in lease && lease.value?.isAbandoned === true, isAbandoned);
    });
  }
});
