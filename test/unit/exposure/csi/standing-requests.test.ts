import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { podListeners, type PodListeners } from '../../../../src/api/listeners/index.ts';
import { DRIVER_NAME } from '../../../../src/api/listeners/names.ts';
import { MountRequests } from '../../../../src/exposure/csi/mount-requests.ts';
import { PodRecords } from '../../../../src/exposure/csi/pod-records.ts';
import { StandingRequests } from '../../../../src/exposure/csi/standing-requests.ts';
import { targetOf } from '../../../../src/exposure/csi/target-path.ts';
import type { Volume } from '../../../../src/exposure/csi/volume-entry.ts';
import { ApiError } from '../../../../src/kube/errors.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { FakeApi } from './fake-api.ts';
import { FakeCache } from './fake-cache.ts';
import { ip, NodeFixture, NODE_NAME, POD_KEY, POD_UID, startDriver, until } from './node-fixture.ts';

const never = new AbortController().signal;
const pod = { namespace: 'default', name: 'web-0', uid: POD_UID };
const created = `create podlisteners ${POD_KEY}`;

const address = (target: string): string => readFileSync(join(target, 'default-address/address'), 'utf8');

it('the record of a pod is written later where it could not be at once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-records-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const records = await PodRecords.open(folder);
  rmSync(folder, { recursive: true });
  await assert.rejects(records.add(pod), { code: 'ENOENT' });
  mkdirSync(folder);
  await records.add(pod);
  assert.deepEqual((await PodRecords.open(folder)).get(POD_UID), pod);
});

/** The kubelet's file beside a volume. */
function writeVolumeData(target: string): void {
  writeFileSync(join(dirname(target), 'vol_data.json'), JSON.stringify({ volumeHandle: 'pvc-1', driverName: DRIVER_NAME }));
}

/** Removes each object as soon as it is made, as the garbage collector does once the pod is gone. */
function collect(fixture: NodeFixture): void {
  fixture.cache.onChange(({ type }) => {
    if (type === 'added') queueMicrotask(() => fixture.lose());
  });
}

/** Far more turns of the event loop than a queue needs to look again. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

async function standing(
  fixture: NodeFixture,
  signal: AbortSignal,
  pause: number,
): Promise<{ readonly requests: StandingRequests; readonly volume: Volume }> {
  const { api, cache } = fixture;
  const records = await PodRecords.open(join(fixture.kubeletDir, 'records'));
  const options = { nodeName: NODE_NAME, client: api, podListeners: cache };
  const log = createLogger({ level: 'silent', component: 'test' });
  const requests = new StandingRequests({
    ...options,
    requests: new MountRequests(options),
    records,
    log,
    signal,
    backoff: { first: pause, max: pause },
  });
  return { requests, volume: { handle: 'pvc-1', target: targetOf(fixture.kubeletDir, POD_UID, 'pvc-1'), pod } };
}

describe('a request', () => {
  it('is made once, and again where it went while the watch was cut', async () => {
    const api = new FakeApi();
    const cache = new FakeCache<PodListeners>();
    const requests = new MountRequests({ nodeName: NODE_NAME, client: api, podListeners: cache });
    await requests.request(pod, 'pvc-1', never);
    await requests.request(pod, 'pvc-1', never);
    assert.deepEqual(api.calls, [created]);
    api.remove(podListeners, POD_KEY);
    cache.relist('9');
    await requests.request(pod, 'pvc-1', never);
    assert.deepEqual(api.calls, [created, created]);
  });
});

describe('the request of a volume that a pod has', () => {
  it('is created again when its object is deleted, and the file keeps following it', async () => {
    using fixture = new NodeFixture();
    let shown = '10.0.0.1';
    fixture.answerWith(() => [ip(shown)]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    shown = '10.0.0.2';
    fixture.lose();
    await until(() => address(fixture.target()) === '10.0.0.2');
    fixture.change('pvc-1', [ip('10.0.0.3')]);
    await until(() => address(fixture.target()) === '10.0.0.3');
    assert.deepEqual(fixture.api.calls, [created, created]);
  });

  it('is created again by the next driver, if it was deleted while none ran', async () => {
    using fixture = new NodeFixture();
    let shown = '10.0.0.1';
    fixture.answerWith(() => [ip(shown)]);
    const first = await startDriver(fixture);
    await first.node.nodePublishVolume(fixture.request());
    await first.stop();
    writeVolumeData(fixture.target());
    fixture.lose();
    shown = '10.0.0.2';
    await using _second = await startDriver(fixture);
    fixture.cache.relist('9');
    await until(() => address(fixture.target()) === '10.0.0.2');
  });

  it('is created again if the driver that mounted it kept no record of pods', async () => {
    using fixture = new NodeFixture();
    let shown = '10.0.0.1';
    fixture.answerWith(() => [ip(shown)]);
    const first = await startDriver(fixture);
    await first.node.nodePublishVolume(fixture.request());
    await first.stop();
    writeVolumeData(fixture.target());
    const records = join(fixture.kubeletDir, 'plugins', DRIVER_NAME, 'pods');
    await (await PodRecords.open(records)).remove(POD_UID);
    await using _second = await startDriver(fixture);
    await until(() => existsSync(records) && readdirSync(records).length === 1);
    shown = '10.0.0.2';
    fixture.lose();
    await until(() => address(fixture.target()) === '10.0.0.2');
  });

  it('is not made for ever where it is collected each time, and not at all once the volume was removed', async () => {
    using fixture = new NodeFixture();
    const stop = new AbortController();
    const { requests, volume } = await standing(fixture, stop.signal, 600_000);
    collect(fixture);
    requests.add(volume);
    await until(() => fixture.api.calls.length === 1 && fixture.cache.size === 0);
    fixture.cache.relist('9');
    await turns(100);
    assert.deepEqual(fixture.api.calls, [created], 'while the volume is there');
    requests.remove(volume.target);
    await until(() => readdirSync(join(fixture.kubeletDir, 'records')).length === 0);
    assert.deepEqual(fixture.api.calls, [created]);
    stop.abort();
  });

  for (const [what, failure] of [
    ['ends', { status: 403, reason: 'Forbidden', message: 'no', causes: ['NamespaceTerminating'] }],
    ['has ended', { status: 404, reason: 'NotFound', message: 'namespaces "default" not found' }],
  ] as const) {
    it(`is asked for once in a namespace that ${what}, and the pod forgotten`, async () => {
      using fixture = new NodeFixture();
      const stop = new AbortController();
      const { requests, volume } = await standing(fixture, stop.signal, 0);
      fixture.api.failures.push(new ApiError('test', failure));
      requests.add(volume);
      await until(() => fixture.api.calls.length === 1);
      await until(() => readdirSync(join(fixture.kubeletDir, 'records')).length === 0);
      fixture.cache.relist('9');
      await turns(100);
      assert.deepEqual(fixture.api.calls, [created]);
      stop.abort();
    });
  }
});

describe('the records of pods', () => {
  it('go with the last volume of the pod, and with volumes that went while no driver ran', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    const records = join(fixture.kubeletDir, 'plugins', DRIVER_NAME, 'pods');
    const first = await startDriver(fixture);
    for (const volume of ['pvc-1', 'pvc-2']) await first.node.nodePublishVolume(fixture.request({}, volume));
    await until(() => readdirSync(records).length === 1);
    await first.node.nodeUnpublishVolume({ volumeId: 'pvc-1', targetPath: fixture.target('pvc-1') });
    await first.stop();
    assert.deepEqual(readdirSync(records), [POD_UID]);
    await using _second = await startDriver(fixture);
    assert.deepEqual(readdirSync(records), []);
  });
});
