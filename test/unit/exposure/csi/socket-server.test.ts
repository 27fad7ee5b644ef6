import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createChannel, createClient } from 'nice-grpc';
import { Status } from 'nice-grpc-common';
import { ControllerDefinition, IdentityDefinition } from '../../../../src/exposure/csi/generated/csi.ts';
import { createIdentityService } from '../../../../src/exposure/csi/identity-service.ts';
import { serveOnSocket, type SocketServer } from '../../../../src/exposure/csi/socket-server.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { NodeFixture, rejects, startDriver } from './node-fixture.ts';
import { temporaryFolder } from './volume-folder.ts';

const log = createLogger({ level: 'silent', component: 'test' });

function serve(socket: string, probe?: () => Promise<never>): Promise<SocketServer> {
  const service = createIdentityService({ version: '1', isReady: () => true });
  const implementation = probe === undefined ? service : { ...service, probe };
  return serveOnSocket({ socket, log, stopMilliseconds: 100, services: (server) => server.add(IdentityDefinition, implementation) });
}

describe('a socket server', () => {
  it('makes a socket that only its user can open, and removes it at the end', async () => {
    using folder = temporaryFolder();
    const socket = join(folder.path, 's');
    const umask = process.umask(0);
    try {
      const server = await serve(socket);
      assert.equal(statSync(socket).mode & 0o777, 0o600);
      assert.equal(process.umask(), 0);
      await server[Symbol.asyncDispose]();
      assert.ok(!existsSync(socket));
    } finally {
      process.umask(umask);
    }
  });

  it('takes the place of a socket that a killed process left', async () => {
    using folder = temporaryFolder();
    const socket = join(folder.path, 's');
    const other = createServer().listen(socket);
    await once(other, 'listening');
    await using server = await serve(socket);
    assert.equal(await server.isReachable(), true);
    other.close();
  });

  it('removes nothing but a socket', async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, 'file'), 'x');
    await assert.rejects(serve(join(folder.path, 'file')), { code: 'csi-socket', message: /is not a socket/ });
    mkdirSync(join(folder.path, 'folder'));
    await assert.rejects(serve(join(folder.path, 'folder')), { code: 'csi-socket', message: /is not a socket/ });
    assert.ok(existsSync(join(folder.path, 'file')));
  });

  it('says what is wrong with a path', async () => {
    using folder = temporaryFolder();
    await assert.rejects(serve(join(folder.path, 'none/s')), { code: 'csi-socket', message: /does its folder exist/ });
    await assert.rejects(serve(join(folder.path, 'x'.repeat(120))), { code: 'csi-socket', message: /more than 107 bytes/ });
  });

  it('notices that its socket was removed or replaced', async () => {
    using folder = temporaryFolder();
    const socket = join(folder.path, 's');
    const server = await serve(socket);
    rmSync(socket);
    assert.equal(await server.isReachable(), false);
    writeFileSync(socket, '');
    assert.equal(await server.isReachable(), false);
    rmSync(socket);
    await server[Symbol.asyncDispose]();
  });

  it('answers UNIMPLEMENTED for unknown methods, and INTERNAL with its message for an unexpected error', async () => {
    using folder = temporaryFolder();
    const socket = join(folder.path, 's');
    await using _server = await serve(socket, async () => {
      throw new TypeError('out of luck');
    });
    const channel = createChannel(`unix://${socket}`, undefined, { 'grpc.default_authority': 'localhost' });
    await rejects(createClient(ControllerDefinition, channel).controllerGetCapabilities({}), Status.UNIMPLEMENTED, '');
    await rejects(createClient(IdentityDefinition, channel).probe({}), Status.INTERNAL, 'out of luck');
    channel.close();
  });

  it('cuts a caller that never ends, at its deadline', async () => {
    using folder = temporaryFolder();
    const socket = join(folder.path, 's');
    const server = await serve(socket, () => new Promise<never>(() => undefined));
    const channel = createChannel(`unix://${socket}`, undefined, { 'grpc.default_authority': 'localhost' });
    const client = createClient(IdentityDefinition, channel);
    await client.getPluginInfo({});
    const hanging = assert.rejects(client.probe({}));
    await client.getPluginInfo({});
    await server[Symbol.asyncDispose]();
    await hanging;
    channel.close();
  });
});

describe('the node driver', () => {
  it('makes itself known to the kubelet and is ready when that took it', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    assert.deepEqual(await driver.registration.getInfo({}), {
      type: 'CSIPlugin',
      name: 'listeners.stackable.tech',
      endpoint: driver.sockets.endpoint,
      supportedVersions: ['1.0.0'],
    });
    assert.match(driver.readiness.at(-1) ?? '', /--kubelet-dir/);
    await driver.registration.notifyRegistrationStatus({ pluginRegistered: true, error: '' });
    assert.equal(driver.readiness.at(-1), undefined);
  });

  it('ends where the kubelet does not take it', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const ended = assert.rejects(driver.ended, { code: 'csi-registration', message: /too old/ });
    await driver.registration.notifyRegistrationStatus({ pluginRegistered: false, error: 'too old' }).catch(() => undefined);
    await ended;
  });

  it('stops if one of its sockets was removed, so that it is restarted', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture, { watchMilliseconds: 20 });
    rmSync(driver.sockets.registry);
    await assert.rejects(driver.ended, { code: 'csi-socket', message: /was removed/ });
  });

  it('does not make the folder in which the kubelet looks', async () => {
    using fixture = new NodeFixture();
    rmSync(join(fixture.kubeletDir, 'plugins_registry'), { recursive: true });
    await assert.rejects(startDriver(fixture), { code: 'csi-socket', message: /plugins_registry/ });
  });

  it('leaves no socket behind', async () => {
    using fixture = new NodeFixture();
    const driver = await startDriver(fixture);
    await driver.stop();
    assert.deepEqual(
      [driver.sockets.endpoint, driver.sockets.registry].filter((path) => existsSync(path)),
      [],
    );
  });
});
