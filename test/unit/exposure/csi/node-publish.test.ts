import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { Metadata, Status } from 'nice-grpc-common';
import type { PodListeners } from '../../../../src/api/listeners/index.ts';
import { TransportError } from '../../../../src/kube/errors.ts';
import { logLines } from '../../support/log-lines.ts';
import { refused } from './fake-api.ts';
import { ip, NodeFixture, NODE_NAME, podContext, POD_KEY, POD_UID, rejects, startDriver, until } from './node-fixture.ts';
import { filesOf, readAsPod, tree } from './volume-folder.ts';

const file = (target: string, path: string): string => readFileSync(join(target, path), 'utf8');

describe('NodePublishVolume', () => {
  it('asks for the mount by one write and no read, waits by watch, and shows the address', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1'), ip('fd00::1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    const wanted = tree('10.0.0.1', { '10.0.0.1': { http: 30_001 }, 'fd00::1': { http: 30_001 } });
    assert.deepEqual(readAsPod(fixture.target()), filesOf(wanted));
    assert.deepEqual(fixture.api.calls, [`create podlisteners ${POD_KEY}`]);
    const asked = fixture.cache.get(POD_KEY);
    assert.deepEqual(asked?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid: POD_UID }]);
    assert.equal(asked?.spec.nodeName, NODE_NAME);
    assert.deepEqual(asked?.spec.mounts, { 'pvc-1': {} });
  });

  it('logs each step of a mount at debug, with the number of the call', async () => {
    using fixture = new NodeFixture();
    const { log, entries, story } = logLines();
    await using driver = await startDriver(fixture, { log });
    const mount = driver.node.nodePublishVolume(fixture.request());
    await until(() => entries.some(({ reason }) => reason === 'Unanswered'));
    fixture.mark(POD_KEY, 'pvc-1', { reason: 'NoAddress', message: 'Service web has no address yet.' });
    fixture.change('pvc-1', [ip('10.0.0.1')]);
    await mount;
    await driver.node.nodeUnpublishVolume({ volumeId: 'pvc-1', targetPath: fixture.target() });
    const steps = story('call', 'method', 'volume', 'pod', 'podUid', 'status', 'reason', 'why', 'address', 'files');
    assert.deepEqual(
      steps.filter((step) => / volume=pvc-1/.test(step)),
      [
        'call received call=1 method=NodePublishVolume volume=pvc-1',
        'mount requested from the controller call=1 volume=pvc-1 pod=web-0',
        'waiting for an address call=1 volume=pvc-1 pod=web-0 reason=Unanswered',
        'waiting for an address call=1 volume=pvc-1 pod=web-0 reason=NoAddress why=Service web has no address yet.',
        'address known call=1 volume=pvc-1 pod=web-0 address=10.0.0.1',
        `files written volume=pvc-1 podUid=${POD_UID} files=10.0.0.1/address,10.0.0.1/ports/http`,
        `the pod sees the address volume=pvc-1 podUid=${POD_UID} address=10.0.0.1`,
        'volume published call=1 volume=pvc-1 pod=web-0',
        'call answered call=1 method=NodePublishVolume volume=pvc-1 status=OK',
        'call received call=2 method=NodeUnpublishVolume volume=pvc-1',
        `volume unpublished call=2 volume=pvc-1 podUid=${POD_UID}`,
        'call answered call=2 method=NodeUnpublishVolume volume=pvc-1 status=OK',
      ],
    );
  });

  it('writes once for each volume of a pod, though the kubelet mounts them at the same time', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith((handle) => [ip(`address-of-${handle}`)]);
    await using driver = await startDriver(fixture);
    const volumes = ['pvc-1', 'pvc-2', 'pvc-3'];
    await Promise.all(volumes.map((volume) => driver.node.nodePublishVolume(fixture.request({}, volume))));
    assert.deepEqual(fixture.api.calls, [
      `create podlisteners ${POD_KEY}`,
      `patch podlisteners ${POD_KEY}`,
      `patch podlisteners ${POD_KEY}`,
    ]);
    for (const volume of volumes) assert.equal(file(fixture.target(volume), 'default-address/address'), `address-of-${volume}`);
  });

  it('answers at once and without a write if the volume is there, even in a restarted driver', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    for (let round = 0; round < 2; round += 1) {
      await using driver = await startDriver(fixture);
      await driver.node.nodePublishVolume(fixture.request());
      await driver.node.nodePublishVolume(fixture.request());
    }
    assert.equal(fixture.api.calls.length, 1);
  });

  it('serves two callers of one volume alike', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await Promise.all([1, 2, 3].map(() => driver.node.nodePublishVolume(fixture.request())));
    assert.equal(fixture.api.calls.length, 1);
    assert.equal(file(fixture.target(), 'default-address/address'), '10.0.0.1');
  });

  it('waits for the first whole list of the watch', async () => {
    using fixture = new NodeFixture(false);
    fixture.put({
      metadata: { namespace: 'default', name: `pod-${POD_UID}` },
      spec: { nodeName: NODE_NAME, mounts: { 'pvc-1': {} }, listeners: {} },
    });
    fixture.change('pvc-1', [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    const published = driver.node.nodePublishVolume(fixture.request());
    fixture.cache.sync();
    await published;
    assert.deepEqual(fixture.api.calls, []);
  });

  it('leaves it to the controller to take over an object that an earlier system left, and goes on from there', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const left: PodListeners = { metadata: { namespace: 'default', name: `pod-${POD_UID}` }, spec: { listeners: {} } };
    fixture.put(left);
    // No node in it, so this node's watch does not bring it.
    fixture.cache.delete(POD_KEY);
    const published = driver.node.nodePublishVolume(fixture.request());
    await until(() => fixture.api.calls.length === 2);
    fixture.put({ ...left, spec: { ...left.spec, nodeName: NODE_NAME, mounts: { 'pvc-1': {} } } });
    fixture.change('pvc-1', [ip('10.0.0.1')]);
    await published;
    assert.deepEqual(fixture.api.calls, [`create podlisteners ${POD_KEY}`, `find podlisteners ${POD_KEY}`]);
    assert.equal(file(fixture.target(), 'default-address/address'), '10.0.0.1');
  });

  it('names the object that stands in the way because it belongs to another node', async () => {
    using fixture = new NodeFixture();
    fixture.put({ metadata: { namespace: 'default', name: `pod-${POD_UID}` }, spec: { nodeName: 'other', listeners: {} } });
    fixture.cache.delete(POD_KEY);
    await using driver = await startDriver(fixture);
    await rejects(
      driver.node.nodePublishVolume(fixture.request()),
      Status.FAILED_PRECONDITION,
      `PodListeners ${POD_KEY} belongs to node other`,
    );
  });

  it('makes the object again where it was deleted meanwhile', async () => {
    using fixture = new NodeFixture();
    fixture.cache.set({ metadata: { namespace: 'default', name: `pod-${POD_UID}` }, spec: { nodeName: NODE_NAME, listeners: {} } });
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    assert.deepEqual(
      fixture.api.calls.map((call) => call.split(' ')[0]),
      ['patch', 'find', 'create'],
    );
  });

  it('says at the end of its patience what it waits for, in the words of the controller', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture, { waitMilliseconds: 2_000 });
    fixture.cache.onChange(({ object }) => {
      if (object.status === undefined) {
        const status = { mounts: { 'pvc-1': { reason: 'ListenerClassMissing', message: 'ListenerClass x does not exist.' } } };
        fixture.put({ ...object, status });
      }
    });
    await rejects(
      driver.node.nodePublishVolume(fixture.request()),
      Status.DEADLINE_EXCEEDED,
      'Volume pvc-1 of pod default/web-0 has no address yet. ListenerClassMissing: ListenerClass x does not exist.',
    );
    assert.ok(!existsSync(fixture.target()));
  });

  it('says so in time where its caller has less patience', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const call = driver.node.nodePublishVolume(fixture.request(), { metadata: Metadata({ 'grpc-timeout': '2S' }) });
    await rejects(call, Status.DEADLINE_EXCEEDED, 'The controller has not answered this mount');
  });

  it('says that no controller answers where none does', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture, { waitMilliseconds: 100 });
    await rejects(driver.node.nodePublishVolume(fixture.request()), Status.DEADLINE_EXCEEDED, 'The controller has not answered this mount');
  });

  it('says that the API server is out of reach where it is', async () => {
    using fixture = new NodeFixture(false);
    await using driver = await startDriver(fixture, { waitMilliseconds: 100 });
    await rejects(driver.node.nodePublishVolume(fixture.request()), Status.UNAVAILABLE, 'has not reached the API server yet');
  });

  it('stops working when its caller gives up', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const caller = new AbortController();
    const call = driver.node.nodePublishVolume(fixture.request(), { signal: caller.signal });
    await until(() => fixture.api.calls.length === 1);
    caller.abort();
    await assert.rejects(call, { name: 'AbortError' });
    // One connection: the cancellation arrives before this call.
    await driver.identity.probe({});
    fixture.change('pvc-1', [ip('10.0.0.1')]);
    await driver.identity.probe({});
    assert.ok(!existsSync(fixture.target()));
  });

  it('asks the kubelet to retry when the driver stops', async () => {
    using fixture = new NodeFixture();
    const driver = await startDriver(fixture);
    const call = driver.node.nodePublishVolume(fixture.request());
    const refusal = rejects(call, Status.UNAVAILABLE, 'The driver is stopping');
    await until(() => fixture.api.calls.length === 1);
    await driver.stop();
    await refusal;
  });

  it('passes on why the API server refuses', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    for (const [message, advice] of [
      ['User "driver" cannot create resource "podlisteners"', 'RBAC'],
      ['exceeded quota: few', 'Raise the ResourceQuota'],
      ['admission webhook "teams.example" denied the request: no', 'exclude Earshot from that webhook'],
    ] as const) {
      fixture.api.failures.push(refused(403, 'Forbidden', message));
      await rejects(driver.node.nodePublishVolume(fixture.request()), Status.FAILED_PRECONDITION, advice);
    }
    fixture.api.failures.push(new TransportError('kube-cut', 'the connection broke', { sent: true }));
    await rejects(driver.node.nodePublishVolume(fixture.request()), Status.UNAVAILABLE, 'the connection broke');
  });

  it('refuses a name that would leave the volume, and leaves nothing behind', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('../../../../evil')]);
    await using driver = await startDriver(fixture);
    await rejects(driver.node.nodePublishVolume(fixture.request()), Status.FAILED_PRECONDITION, 'ingressAddresses[0].address');
    assert.ok(!existsSync(fixture.target()));
    assert.ok(!existsSync(join(dirname(fixture.target()), 'evil')));
  });

  const invalid: readonly (readonly [string, (fixture: NodeFixture) => object, Status, string])[] = [
    ['no volume', () => ({ volumeId: '' }), Status.INVALID_ARGUMENT, 'volume_id'],
    ['a volume id with a line break', () => ({ volumeId: 'a\nb' }), Status.INVALID_ARGUMENT, 'volume_id'],
    ['no target', () => ({ targetPath: '' }), Status.INVALID_ARGUMENT, 'target_path'],
    ['no capability', () => ({ volumeCapability: undefined }), Status.INVALID_ARGUMENT, 'volume_capability'],
    [
      'a raw block device',
      () => ({ volumeCapability: { accessType: { $case: 'block', value: {} }, accessMode: { mode: 1 } } }),
      Status.INVALID_ARGUMENT,
      'volumeMode: Filesystem',
    ],
    [
      'an inline volume',
      () => ({ volumeContext: podContext({ 'csi.storage.k8s.io/ephemeral': 'true' }) }),
      Status.INVALID_ARGUMENT,
      'volumes[].ephemeral',
    ],
    ['no pod', () => ({ volumeContext: new Map() }), Status.FAILED_PRECONDITION, 'podInfoOnMount: true'],
    [
      'a pod that is not that of the path',
      () => ({ volumeContext: podContext({ 'csi.storage.k8s.io/pod.uid': 'other' }) }),
      Status.INVALID_ARGUMENT,
      'belongs to the pod',
    ],
    ['a path elsewhere', () => ({ targetPath: '/etc' }), Status.INVALID_ARGUMENT, '--kubelet-dir'],
    [
      'a path that climbs',
      ({ kubeletDir }) => ({ targetPath: `${kubeletDir}/pods/${POD_UID}/volumes/kubernetes.io~csi/../mount` }),
      Status.INVALID_ARGUMENT,
      'is not',
    ],
    ['a path with a tail', (fixture) => ({ targetPath: `${fixture.target()}/x` }), Status.INVALID_ARGUMENT, 'is not'],
    [
      'a path of another plugin',
      (fixture) => ({ targetPath: fixture.target().replace('io~csi', 'io~nfs') }),
      Status.INVALID_ARGUMENT,
      'is not',
    ],
    [
      'a pod uid that is no name',
      (fixture) => ({ targetPath: fixture.target().replace(POD_UID, 'A_B') }),
      Status.INVALID_ARGUMENT,
      'is not',
    ],
  ];
  for (const [what, changes, status, words] of invalid) {
    it(`refuses ${what}`, async () => {
      using fixture = new NodeFixture();
      await using driver = await startDriver(fixture);
      await rejects(driver.node.nodePublishVolume({ ...fixture.request(), ...changes(fixture) }), status, words);
      assert.deepEqual(fixture.api.calls, []);
    });
  }
});
