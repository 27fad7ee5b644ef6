import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createChannel, createClient, type Client } from 'nice-grpc';
import { Status } from 'nice-grpc-common';
import type { Listener, ListenerClass, ListenerClassSpec } from '../../../../src/api/listeners/index.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  type CreateVolumeRequest,
  type VolumeCapability,
} from '../../../../src/exposure/csi/generated/csi.ts';
import { serveCsiController } from '../../../../src/exposure/csi/serve-controller.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../../src/kube/resource.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { FakeApi } from './fake-api.ts';
import { FakeCache } from './fake-cache.ts';
import { rejects } from './node-fixture.ts';
import { temporaryFolder } from './volume-folder.ts';

const NAME = 'listeners.stackable.tech/listener-name';
const CLASS = 'listeners.stackable.tech/listener-class';
const HOSTNAME = 'listeners.stackable.tech/hostname';

interface Fixture extends AsyncDisposable {
  readonly api: FakeApi;
  readonly classes: FakeCache<ListenerClass>;
  readonly controller: Client<typeof ControllerDefinition>;
  readonly identity: Client<typeof IdentityDefinition>;
}

async function start(): Promise<Fixture> {
  const folder = temporaryFolder();
  const api = new FakeApi();
  const classes = new FakeCache<ListenerClass>([
    listenerClass('pinned', { serviceType: 'NodePort', pinnedNodePorts: true }),
    listenerClass('unpinned', { serviceType: 'NodePort' }),
    listenerClass('internal', { serviceType: 'ClusterIP', pinnedNodePorts: true }),
  ]).sync();
  const listeners = new FakeCache<Listener>([
    listener('web', { className: 'pinned' }),
    listener('bare', {}),
    listener('lost', { className: 'absent' }),
  ]);
  const socket = join(folder.path, 's');
  const log = createLogger({ level: 'silent', component: 'test' });
  const server = await serveCsiController({ socket, client: api, classes, listeners: listeners.sync(), log });
  const channel = createChannel(`unix://${socket}`, undefined, { 'grpc.default_authority': 'localhost' });
  return {
    api,
    classes,
    controller: createClient(ControllerDefinition, channel),
    identity: createClient(IdentityDefinition, channel),
    async [Symbol.asyncDispose]() {
      channel.close();
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

function listenerClass(name: string, spec: ListenerClassSpec): ListenerClass {
  return { metadata: { name }, spec };
}

function listener(name: string, spec: Listener['spec']): Listener {
  return { metadata: { namespace: 'default', name }, spec };
}

function putClaim(api: FakeApi, annotations?: Readonly<Record<string, string>>): void {
  api.put(persistentVolumeClaims, {
    metadata: { namespace: 'default', name: 'data-web-0', ...(annotations === undefined ? {} : { annotations }) },
  });
}

const capability = (mode = 1): VolumeCapability => ({
  accessType: { $case: 'mount', value: { fsType: '', mountFlags: [] } },
  accessMode: { mode },
});
const block: VolumeCapability = { accessType: { $case: 'block', value: {} }, accessMode: { mode: 1 } };

const topology = (...nodes: readonly string[]) =>
  nodes.map((node) => ({
    segments: new Map([
      [HOSTNAME, node],
      ['other', 'x'],
    ]),
  }));

function request(changes: Partial<CreateVolumeRequest> = {}): CreateVolumeRequest {
  return {
    name: 'pvc-1',
    capacityRange: { requiredBytes: 1n, limitBytes: 0n },
    volumeCapabilities: [capability()],
    parameters: new Map([
      ['csi.storage.k8s.io/pvc/name', 'data-web-0'],
      ['csi.storage.k8s.io/pvc/namespace', 'default'],
    ]),
    accessibilityRequirements: { requisite: topology('a', 'b'), preferred: topology('b', 'a') },
    ...changes,
  };
}

describe('CreateVolume', () => {
  it('keeps what the claim asks for, at the cost of one read', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'unpinned', other: 'x' });
    const { volume } = await fixture.controller.createVolume(request());
    assert.deepEqual(volume, {
      volumeId: 'pvc-1',
      capacityBytes: 1n,
      volumeContext: new Map([[CLASS, 'unpinned']]),
      accessibleTopology: [],
    });
    assert.deepEqual(fixture.api.calls, ['find persistentvolumeclaims default/data-web-0']);
  });

  it('pins the volume to the first preferred node where the class keeps node ports there, and to nothing else', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'pinned' });
    const { volume } = await fixture.controller.createVolume(request());
    assert.deepEqual(volume?.accessibleTopology, [{ segments: new Map([[HOSTNAME, 'b']]) }]);
  });

  it('pins it to the first possible node where none is preferred', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'pinned' });
    const { volume } = await fixture.controller.createVolume(
      request({ accessibilityRequirements: { requisite: topology('a'), preferred: [] } }),
    );
    assert.deepEqual(volume?.accessibleTopology, [{ segments: new Map([[HOSTNAME, 'a']]) }]);
  });

  for (const [className, expected] of [
    ['unpinned', 0],
    ['internal', 0],
    ['pinned', 1],
  ] as const) {
    it(`pins ${expected === 0 ? 'no' : 'a'} volume of the class ${className}`, async () => {
      await using fixture = await start();
      putClaim(fixture.api, { [CLASS]: className });
      const { volume } = await fixture.controller.createVolume(request());
      assert.equal(volume?.accessibleTopology.length, expected);
    });
  }

  it('goes by the class of the Listener that a claim names; each claim of one Listener has a node of its own', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [NAME]: 'web' });
    const { volume } = await fixture.controller.createVolume(request());
    assert.deepEqual(volume?.volumeContext, new Map([[NAME, 'web']]));
    assert.deepEqual(volume?.accessibleTopology, [{ segments: new Map([[HOSTNAME, 'b']]) }]);
    const other = await fixture.controller.createVolume(
      request({ name: 'pvc-2', accessibilityRequirements: { requisite: [], preferred: topology('c') } }),
    );
    assert.deepEqual(other.volume?.accessibleTopology, [{ segments: new Map([[HOSTNAME, 'c']]) }]);
  });

  it('succeeds once what was missing is there', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'later' });
    await rejects(fixture.controller.createVolume(request()), Status.NOT_FOUND, 'ListenerClass later, which the annotation');
    fixture.classes.set(listenerClass('later', { serviceType: 'ClusterIP' }));
    assert.equal((await fixture.controller.createVolume(request())).volume?.volumeId, 'pvc-1');
  });

  it('answers the same again', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'pinned' });
    assert.deepEqual(await fixture.controller.createVolume(request()), await fixture.controller.createVolume(request()));
  });

  it('refuses the same name with another size, until the volume is deleted', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'unpinned' });
    await fixture.controller.createVolume(request({ capacityRange: { requiredBytes: 1n, limitBytes: 1n } }));
    const larger = request({ capacityRange: { requiredBytes: 2n, limitBytes: 2n } });
    await rejects(fixture.controller.createVolume(larger), Status.ALREADY_EXISTS, 'exists with 1 bytes');
    await fixture.controller.deleteVolume({ volumeId: 'pvc-1' });
    assert.equal((await fixture.controller.createVolume(larger)).volume?.capacityBytes, 2n);
  });

  for (let mode = 1; mode <= 7; mode += 1) {
    it(`accepts the access mode ${mode}`, async () => {
      await using fixture = await start();
      putClaim(fixture.api, { [CLASS]: 'unpinned' });
      await fixture.controller.createVolume(request({ volumeCapabilities: [capability(mode)] }));
    });
  }

  const claims: readonly (readonly [string, Readonly<Record<string, string>> | undefined, Status, string])[] = [
    ['neither annotation', { other: 'x' }, Status.FAILED_PRECONDITION, 'PersistentVolumeClaim default/data-web-0 names nothing to expose'],
    ['no annotation at all', undefined, Status.FAILED_PRECONDITION, CLASS],
    ['both annotations', { [NAME]: 'web', [CLASS]: 'pinned' }, Status.FAILED_PRECONDITION, 'remove one of them'],
    ['both annotations, one of them empty', { [NAME]: '', [CLASS]: 'pinned' }, Status.FAILED_PRECONDITION, 'remove one of them'],
    ['an empty name', { [CLASS]: '' }, Status.FAILED_PRECONDITION, 'not the name of an object'],
    ['a name that climbs', { [NAME]: '../../secrets' }, Status.FAILED_PRECONDITION, 'not the name of an object'],
    ['a name with a line break', { [CLASS]: 'a\nb' }, Status.FAILED_PRECONDITION, String.raw`"a\nb"`],
    ['a name that is too long', { [CLASS]: 'a'.repeat(254) }, Status.FAILED_PRECONDITION, 'not the name of an object'],
    ['a class that is not there', { [CLASS]: 'absent' }, Status.NOT_FOUND, 'ListenerClass absent'],
    ['a Listener that is not there', { [NAME]: 'absent' }, Status.NOT_FOUND, 'Listener default/absent does not exist'],
    ['a Listener without a class', { [NAME]: 'bare' }, Status.FAILED_PRECONDITION, 'Listener default/bare has no spec.className'],
    [
      'a Listener whose class is not there',
      { [NAME]: 'lost' },
      Status.NOT_FOUND,
      'ListenerClass absent, which Listener default/lost names',
    ],
  ];
  for (const [what, annotations, status, words] of claims) {
    it(`says what is wrong with a claim that has ${what}`, async () => {
      await using fixture = await start();
      putClaim(fixture.api, annotations);
      await rejects(fixture.controller.createVolume(request()), status, words);
    });
  }

  const requests: readonly (readonly [string, Partial<CreateVolumeRequest>, Status, string])[] = [
    ['no name', { name: '' }, Status.INVALID_ARGUMENT, 'name is missing'],
    ['no capability', { volumeCapabilities: [] }, Status.INVALID_ARGUMENT, 'volume_capabilities'],
    ['a raw block device', { volumeCapabilities: [capability(), block] }, Status.INVALID_ARGUMENT, 'volumeMode: Filesystem'],
    ['no claim', { parameters: new Map() }, Status.INVALID_ARGUMENT, '--extra-create-metadata'],
    [
      'a claim that is no name',
      {
        parameters: new Map([
          ['csi.storage.k8s.io/pvc/name', '../x'],
          ['csi.storage.k8s.io/pvc/namespace', 'default'],
        ]),
      },
      Status.INVALID_ARGUMENT,
      'is invalid',
    ],
    [
      'a claim that is not there',
      {
        parameters: new Map([
          ['csi.storage.k8s.io/pvc/name', 'x'],
          ['csi.storage.k8s.io/pvc/namespace', 'default'],
        ]),
      },
      Status.NOT_FOUND,
      'PersistentVolumeClaim default/x does not exist',
    ],
    ['a size that cannot be', { capacityRange: { requiredBytes: 2n, limitBytes: 1n } }, Status.OUT_OF_RANGE, 'No size'],
    [
      'no topology for a pinned class',
      { accessibilityRequirements: undefined },
      Status.FAILED_PRECONDITION,
      '--feature-gates=Topology=true',
    ],
    [
      'a topology of others only',
      { accessibilityRequirements: { requisite: [], preferred: [{ segments: new Map([['other', 'x']]) }] } },
      Status.FAILED_PRECONDITION,
      HOSTNAME,
    ],
  ];
  for (const [what, changes, status, words] of requests) {
    it(`refuses ${what}`, async () => {
      await using fixture = await start();
      putClaim(fixture.api, { [CLASS]: 'pinned' });
      await rejects(fixture.controller.createVolume(request(changes)), status, words);
    });
  }
});

describe('the other calls of the controller service', () => {
  it('delete volumes that were never there', async () => {
    await using fixture = await start();
    assert.deepEqual(await fixture.controller.deleteVolume({ volumeId: 'absent' }), {});
    await rejects(fixture.controller.deleteVolume({ volumeId: '' }), Status.INVALID_ARGUMENT, '');
  });

  it('confirm capabilities of volumes that were made just now, or are in the API', async () => {
    await using fixture = await start();
    putClaim(fixture.api, { [CLASS]: 'unpinned' });
    await fixture.controller.createVolume(request());
    fixture.api.put(persistentVolumes, { metadata: { name: 'pvc-old' } });
    for (const volumeId of ['pvc-1', 'pvc-old']) {
      const answer = await fixture.controller.validateVolumeCapabilities({ volumeId, volumeCapabilities: [capability(5)] });
      assert.deepEqual(answer.confirmed?.volumeCapabilities, [capability(5)]);
      const refused = await fixture.controller.validateVolumeCapabilities({ volumeId, volumeCapabilities: [block] });
      assert.equal(refused.confirmed, undefined);
      assert.match(refused.message, /Filesystem/);
    }
    for (const volumeId of ['absent', '../x']) {
      await rejects(fixture.controller.validateVolumeCapabilities({ volumeId, volumeCapabilities: [capability()] }), Status.NOT_FOUND, '');
    }
    await rejects(
      fixture.controller.validateVolumeCapabilities({ volumeId: 'pvc-1', volumeCapabilities: [] }),
      Status.INVALID_ARGUMENT,
      '',
    );
  });

  it('say who answers and what it can do', async () => {
    await using fixture = await start();
    assert.equal((await fixture.identity.getPluginInfo({})).name, 'listeners.stackable.tech');
    assert.match((await fixture.identity.getPluginInfo({})).vendorVersion, /^\d+\.\d+\.\d+/);
    assert.deepEqual(await fixture.identity.getPluginCapabilities({}), {
      capabilities: [{ service: { type: 1 } }, { service: { type: 2 } }],
    });
    assert.deepEqual(await fixture.controller.controllerGetCapabilities({}), { capabilities: [{ rpc: { type: 1 } }] });
    assert.deepEqual(await fixture.identity.probe({}), { ready: { value: true } });
  });
});
