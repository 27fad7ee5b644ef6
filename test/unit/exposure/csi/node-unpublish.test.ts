import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { Status } from 'nice-grpc-common';
import { ip, NodeFixture, NODE_NAME, POD_UID, rejects, startDriver, until } from './node-fixture.ts';
import { temporaryFolder } from './volume-folder.ts';

const file = (target: string, path: string): string => readFileSync(join(target, path), 'utf8');

describe('NodeUnpublishVolume', () => {
  it('leaves nothing, whatever the pod wrote, and can be repeated', async () => {
    using outside = temporaryFolder();
    writeFileSync(join(outside.path, 'victim'), 'x');
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    const { volumeId, targetPath } = fixture.request();
    await driver.node.nodePublishVolume(fixture.request());
    mkdirSync(join(targetPath, 'a/b/c'), { recursive: true });
    writeFileSync(join(targetPath, 'a/b/c/file'), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${targetPath}/`), Buffer.from([0xff, 0xfe])]), 'no UTF-8');
    mkdirSync(Buffer.concat([Buffer.from(`${targetPath}/a/`), Buffer.from([0xff])]));
    symlinkSync(outside.path, join(targetPath, 'a/b/link'));
    await driver.node.nodeUnpublishVolume({ volumeId, targetPath });
    assert.deepEqual(readdirSync(dirname(targetPath)), []);
    assert.equal(file(outside.path, 'victim'), 'x');
    await driver.node.nodeUnpublishVolume({ volumeId, targetPath });
    fixture.change('pvc-1', [ip('10.0.0.2')]);
    await driver.identity.probe({});
    assert.deepEqual(readdirSync(dirname(targetPath)), []);
  });

  it('removes folders that are deeper than a path may be long', async () => {
    using fixture = new NodeFixture();
    fixture.answerWith(() => [ip('10.0.0.1')]);
    await using driver = await startDriver(fixture);
    const { volumeId, targetPath } = fixture.request();
    await driver.node.nodePublishVolume(fixture.request());
    const before = process.cwd();
    process.chdir(targetPath);
    try {
      for (let depth = 0; depth < 60; depth += 1) {
        mkdirSync('x'.repeat(200));
        process.chdir('x'.repeat(200));
      }
    } finally {
      process.chdir(before);
    }
    await driver.node.nodeUnpublishVolume({ volumeId, targetPath });
    assert.deepEqual(readdirSync(dirname(targetPath)), []);
  });

  it('succeeds where nothing is, not even the pod', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const targetPath = fixture.target();
    rmSync(join(fixture.kubeletDir, 'pods', POD_UID), { recursive: true });
    await driver.node.nodeUnpublishVolume({ volumeId: 'pvc-1', targetPath });
  });

  it('removes a link in the place of the folder, not what it points at', async () => {
    using outside = temporaryFolder();
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    symlinkSync(outside.path, fixture.target());
    await driver.node.nodeUnpublishVolume({ volumeId: 'pvc-1', targetPath: fixture.target() });
    assert.ok(existsSync(outside.path));
    assert.deepEqual(readdirSync(dirname(fixture.target())), []);
  });

  it('takes back a mount that still waits', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const refusal = rejects(driver.node.nodePublishVolume(fixture.request()), Status.ABORTED, 'being unmounted');
    await until(() => fixture.api.calls.length === 1);
    await driver.node.nodeUnpublishVolume({ volumeId: 'pvc-1', targetPath: fixture.target() });
    await refusal;
    assert.deepEqual(readdirSync(dirname(fixture.target())), []);
  });

  for (const [what, changes] of [
    ['no volume', { volumeId: '' }],
    ['no target', { targetPath: '' }],
    ['a path elsewhere', { targetPath: '/etc' }],
  ] as const) {
    it(`refuses ${what}`, async () => {
      using fixture = new NodeFixture();
      await using driver = await startDriver(fixture);
      await rejects(
        driver.node.nodeUnpublishVolume({ volumeId: 'x', targetPath: fixture.target(), ...changes }),
        Status.INVALID_ARGUMENT,
        '',
      );
    });
  }
});

describe('the node service', () => {
  it('names the node and its topology', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    assert.deepEqual(await driver.node.nodeGetInfo({}), {
      nodeId: NODE_NAME,
      accessibleTopology: { segments: new Map([['listeners.stackable.tech/hostname', NODE_NAME]]) },
    });
    assert.deepEqual(await driver.node.nodeGetCapabilities({}), {});
  });

  it('is ready once its watch has begun', async () => {
    using fixture = new NodeFixture(false);
    await using driver = await startDriver(fixture);
    assert.deepEqual(await driver.identity.probe({}), { ready: { value: false } });
    fixture.cache.sync();
    assert.deepEqual(await driver.identity.probe({}), { ready: { value: true } });
  });
});
