import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { entryDigest } from '../../../../src/api/listeners/entry-digest.ts';
import { DRIVER_NAME } from '../../../../src/api/listeners/names.ts';
import { findVolumes, handleOf } from '../../../../src/exposure/csi/found-volumes.ts';
import { PublishedVolumes } from '../../../../src/exposure/csi/published-volumes.ts';
import { targetOf } from '../../../../src/exposure/csi/target-path.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { metrics } from '../../../../src/telemetry/metrics.ts';
import { eventually } from '../../../harness/wait.ts';
import { entry, ip, NodeFixture, NODE_NAME, POD_UID, startDriver, until } from './node-fixture.ts';
import { filesOf, readAsPod, tree } from './volume-folder.ts';

function address(target: string): string | undefined {
  return existsSync(join(target, 'default-address')) ? readFileSync(join(target, 'default-address/address'), 'utf8') : undefined;
}

/** The kubelet's file beside a volume, written before it calls the driver. */
function writeVolumeData(target: string, changes: Readonly<Record<string, unknown>> = {}): void {
  const data = {
    specVolID: 'pvc-1',
    volumeHandle: 'pvc-1',
    driverName: DRIVER_NAME,
    nodeName: NODE_NAME,
    volumeLifecycleMode: 'Persistent',
    ...changes,
  };
  writeFileSync(join(dirname(target), 'vol_data.json'), JSON.stringify(data));
}

/** A volume as an earlier system left it: plain files in plain folders. */
function writeInPlace(target: string, name: string): void {
  mkdirSync(join(target, 'addresses', name, 'ports'), { recursive: true });
  writeFileSync(join(target, 'addresses', name, 'address'), name);
  writeFileSync(join(target, 'addresses', name, 'ports/http'), '30001');
  symlinkSync(`addresses/${name}`, join(target, 'default-address'));
}

const podListeners = (namespace: string, creationTimestamp: string, shown: string) => ({
  metadata: { namespace, name: `pod-${POD_UID}`, creationTimestamp },
  spec: { nodeName: NODE_NAME, mounts: { 'pvc-1': {} }, listeners: { data: entry('pvc-1', [ip(shown)]) } },
});

describe('a published volume', () => {
  it('follows its addresses, and no others', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith((handle) => [ip(`${handle}-before`)]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request({}, 'pvc-1'));
    await driver.node.nodePublishVolume(fixture.request({}, 'pvc-2'));
    fixture.change('pvc-1', [ip('after', { http: 31_000 })]);
    await until(() => address(fixture.target('pvc-1')) === 'after');
    assert.equal(address(fixture.target('pvc-2')), 'pvc-2-before');
    await until(() => !existsSync(join(fixture.target('pvc-1'), 'addresses/pvc-1-before')));
    assert.deepEqual(readAsPod(fixture.target('pvc-1')), filesOf(tree('after', { after: { http: 31_000 } })));
  });

  it('is followed on when the kubelet publishes it again just after a change', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    fixture.change('pvc-1', [ip('10.0.0.2')]);
    await until(() => address(fixture.target()) === '10.0.0.2');
    await driver.node.nodePublishVolume(fixture.request());
    fixture.change('pvc-1', [ip('10.0.0.3')]);
    await until(() => address(fixture.target()) === '10.0.0.3');
  });

  it('ends with the last of many changes', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('0')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    for (let count = 1; count <= 200; count += 1) fixture.change('pvc-1', [ip(`${count}`)]);
    await until(() => address(fixture.target()) === '200');
  });

  it('keeps its last addresses where there are none any more, or what comes cannot be shown', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    const before = readAsPod(fixture.target());
    fixture.change('pvc-1', []);
    fixture.change('pvc-1', [ip('..')]);
    fixture.cache.delete(`default/pod-${POD_UID}`);
    await driver.node.nodePublishVolume(fixture.request({}, 'pvc-2'));
    assert.deepEqual(readAsPod(fixture.target()), before);
  });

  it('is brought up to date at once where it changed while no driver ran', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    const first = await startDriver(fixture);
    await first.node.nodePublishVolume(fixture.request());
    await first.stop();
    writeVolumeData(fixture.target());
    fixture.change('pvc-1', [ip('10.0.0.2')]);
    await using _second = await startDriver(fixture);
    await until(() => address(fixture.target()) === '10.0.0.2');
  });

  it('of an earlier system is taken over at the first change, not before', async () => {
    using fixture = new NodeFixture();
    writeVolumeData(fixture.target());
    writeInPlace(fixture.target(), '10.0.0.1');
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.1'));
    await using driver = await startDriver(fixture);
    await driver.identity.probe({});
    const before = readAsPod(fixture.target());
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.2'));
    await until(() => address(fixture.target()) === '10.0.0.2');
    assert.deepEqual(before, filesOf(tree('10.0.0.1', { '10.0.0.1': { http: 30_001 } })));
  });

  it('does not believe a younger object of the same name in another namespace', async () => {
    using fixture = new NodeFixture(false);
    writeVolumeData(fixture.target());
    writeInPlace(fixture.target(), '10.0.0.1');
    await using driver = await startDriver(fixture);
    fixture.put(podListeners('another', '2026-01-01T00:00:01Z', 'evil'));
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.2'));
    fixture.cache.sync();
    await until(() => address(fixture.target()) === '10.0.0.2');
    fixture.put(podListeners('another', '2026-01-01T00:00:01Z', 'worse'));
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.3'));
    await until(() => address(fixture.target()) === '10.0.0.3');
    await driver.stop();
  });

  it('is tried again where it could not be written', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    const aside = `${fixture.target()}-aside`;
    renameSync(fixture.target(), aside);
    writeFileSync(fixture.target(), 'not a folder');
    fixture.change('pvc-1', [ip('10.0.0.2')]);
    await driver.node.nodePublishVolume(fixture.request({}, 'pvc-2'));
    rmSync(fixture.target());
    renameSync(aside, fixture.target());
    assert.equal(address(fixture.target()), '10.0.0.1');
    await until(() => address(fixture.target()) === '10.0.0.2');
  });

  it('that could not be written is tried again at once when its addresses change', async (t) => {
    using fixture = new NodeFixture();
    const target = targetOf(fixture.kubeletDir, POD_UID, 'pvc-1');
    const log = createLogger({ level: 'silent', component: 'test' });
    const failed = t.mock.method(log, 'error');
    const stop = new AbortController();
    const backoff = { first: 600_000, max: 600_000 };
    const published = new PublishedVolumes({ podListeners: fixture.cache, log, signal: stop.signal, backoff });
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.1'));
    mkdirSync(target.parent, { recursive: true });
    await published.publish({ handle: 'pvc-1', target, pod: { namespace: 'default', name: 'web-0', uid: POD_UID } });
    const aside = `${target.path}-aside`;
    renameSync(target.path, aside);
    writeFileSync(target.path, 'not a folder');
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.2'));
    await until(() => failed.mock.callCount() > 0);
    const stale = async (): Promise<string> => /^earshot_csi_volumes_stale (\d+)$/m.exec(await metrics.metrics())?.[1] ?? '';
    assert.equal(await stale(), '1');
    const [report] = published.reports();
    assert.deepEqual([report?.pod, report?.volume, report?.stale], [POD_UID, 'pvc-1', true]);
    assert.equal(report?.hash, entryDigest(entry('pvc-1', [ip('10.0.0.1')])));
    rmSync(target.path);
    renameSync(aside, target.path);
    fixture.put(podListeners('default', '2026-01-01T00:00:00Z', '10.0.0.3'));
    await until(() => address(target.path) === '10.0.0.3');
    await eventually('no volume to be stale', async () => (await stale()) === '0');
    stop.abort();
  });

  it('keeps the folders that a container has mounted by subPath', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    // As the kubelet does when it starts a container.
    mkdirSync(join(fixture.kubeletDir, 'pods', POD_UID, 'volume-subpaths/pvc-1/main/0'), { recursive: true });
    const mounted = realpathSync(join(fixture.target(), 'default-address'));
    for (const last of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) {
      fixture.change('pvc-1', [ip(last)]);
      await until(() => address(fixture.target()) === last);
    }
    assert.equal(readFileSync(join(mounted, 'address'), 'utf8'), '10.0.0.1');
    await driver.node.nodeUnpublishVolume({ volumeId: 'pvc-1', targetPath: fixture.target() });
    assert.ok(!existsSync(fixture.target()));
  });

  it('that vanished is forgotten', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    await driver.node.nodePublishVolume(fixture.request());
    await driver.node.nodePublishVolume(fixture.request({}, 'pvc-2'));
    rmSync(fixture.target(), { recursive: true });
    fixture.change('pvc-1', [ip('10.0.0.2')]);
    fixture.change('pvc-2', [ip('10.0.0.2')]);
    await until(() => address(fixture.target('pvc-2')) === '10.0.0.2');
    assert.ok(!existsSync(fixture.target()));
  });
});

describe('the volumes found on a node', () => {
  it("are this driver's that were written whole", async () => {
    using fixture = new NodeFixture();
    for (const volume of ['ours', 'of-another', 'unfinished', 'without-data', 'broken-data', 'linked']) {
      const target = fixture.target(volume);
      writeVolumeData(target, { volumeHandle: `handle of ${volume}`, ...(volume === 'of-another' ? { driverName: 'x' } : {}) });
      if (volume === 'unfinished') mkdirSync(target);
      else if (volume === 'linked') symlinkSync('/', target);
      else writeInPlace(target, 'a');
    }
    rmSync(join(dirname(fixture.target('without-data')), 'vol_data.json'));
    writeFileSync(join(dirname(fixture.target('broken-data')), 'vol_data.json'), '{');
    mkdirSync(join(fixture.kubeletDir, 'pods/UPPER/volumes/kubernetes.io~csi'), { recursive: true });
    writeFileSync(join(fixture.kubeletDir, 'pods/file'), '');
    const found = await findVolumes(fixture.kubeletDir);
    assert.deepEqual(
      found.map(({ handle, target }) => [handle, target.path, target.podUid]),
      [['handle of ours', fixture.target('ours'), POD_UID]],
    );
  });

  it('are none where the kubelet has no pods yet', async () => {
    using fixture = new NodeFixture();
    rmSync(join(fixture.kubeletDir, 'pods'), { recursive: true });
    assert.deepEqual(await findVolumes(fixture.kubeletDir), []);
  });

  for (const text of [
    undefined,
    '',
    'null',
    '[]',
    '1',
    '{"driverName":"x","volumeHandle":"h"}',
    `{"driverName":"${DRIVER_NAME}"}`,
    `{"driverName":"${DRIVER_NAME}","volumeHandle":1}`,
  ]) {
    it(`do not include one with the data ${text}`, () => assert.equal(handleOf(text), undefined));
  }
});
