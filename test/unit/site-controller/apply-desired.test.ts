import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { applyDesired, type ApplyResult } from '../../../src/site-controller/apply-desired.ts';
import { Repairs } from '../../../src/site-controller/repairs.ts';
import { SettledObjects } from '../../../src/site-controller/settled-objects.ts';
import { TimeSlices } from '../../../src/limits/loop/time-slices.ts';
import { RoundRobin } from '../../../src/limits/loop/round-robin.ts';
import type { DesiredObject } from '../../../src/site-controller/desired-state.ts';
import { FIELD_MANAGER } from '../../../src/api/skupper/cluster-names.ts';
import type { KubeObject, Service, ServicePort } from '../../../src/kube/objects.ts';
import { deployments, roleBindings, roles, serviceAccounts, services, type Resource } from '../../../src/kube/resource.ts';
import { PlayedApi, refuse } from '../exposure/support/played-api.ts';
import { playedCluster, type PlayedCluster } from './support/played-cluster.ts';

/**
 * Applies ports as the API server does: by port, leaving those that another manager has put there, and the whole is invalid where two have
 * one name. A merge patch replaces them.
 */
class ApiWithOthers extends PlayedApi {
  override apply<T extends KubeObject>(of: Resource<T>, object: T): Promise<T> {
    const { namespace = '', name = '' } = object.metadata;
    const before = portsOf(this.read(services, `${namespace}/${name}`));
    const desired = portsOf(object);
    const left = before.filter(({ port }) => !desired.some((each) => each.port === port));
    const names = [...desired, ...left].map((each) => each.name);
    if (new Set(names).size === names.length) return super.apply(of, withPorts(object, [...desired, ...left]));
    this.calls.push(`apply ${of.plural} ${namespace}/${name}`);
    return refuse(422, 'Invalid', 'Duplicate value');
  }
}

const portsOf = (object: KubeObject | undefined): readonly ServicePort[] => (object as Service | undefined)?.spec?.ports ?? [];
const withPorts = <T extends KubeObject>(object: T, ports: readonly ServicePort[]): T =>
  ({ ...object, spec: { ...(object as Service).spec, ports } }) as T;

type Ports = readonly (readonly [name: string, port: number])[];

function service(ports: Ports, more: Partial<Service['spec']> = {}, metadata: Partial<Service['metadata']> = {}): Service {
  const all = ports.map(([name, port]) => ({ name, port, protocol: 'TCP', targetPort: port }));
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'ns', name: 'web', ...metadata }, spec: { ports: all, ...more } };
}

const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'Site', name: 'west', uid });

async function carry({ api, caches, signal }: PlayedCluster, object: Service): Promise<ApplyResult> {
  const desiredObject: DesiredObject = { of: services, object, for: 'Listener/web' };
  return applyDesired(
    { objects: [desiredObject], obsolete: [] },
    {
      namespace: 'ns',
      caches,
      client: api,
      repairs: new Repairs({ client: api }),
      settled: new SettledObjects(),
      site: undefined,
      slices: new TimeSlices(new RoundRobin(), 'ns'),
      signal,
    },
  );
}

const after = ({ api }: PlayedCluster): Ports => portsOf(api.read(services, 'ns/web')).map(({ name = '', port }) => [name, port] as const);

describe('what another manager has put into an object', () => {
  for (const [what, before, writes] of [
    ['as it is wanted stays', [['web', 80]], 1],
    [
      'beside it goes',
      [
        ['web', 80],
        ['more', 90],
      ],
      2,
    ],
    ['under another name gets the wanted one', [['other', 80]], 1],
    ['under its name elsewhere goes, although the two could not stand beside each other', [['web', 90]], 3],
  ] as const satisfies readonly (readonly [string, Ports, number])[]) {
    test(`${what}, once`, async () => {
      using cluster = await playedCluster(new ApiWithOthers());
      cluster.api.put(services, service(before));
      assert.deepEqual(await carry(cluster, service([['web', 80]])), { problems: [], failed: undefined });
      assert.deepEqual(after(cluster), [['web', 80]]);
      assert.equal(cluster.api.writes.length, writes);
      await carry(cluster, service([['web', 80]]));
      assert.equal(cluster.api.writes.length, writes);
    });
  }

  test('is no reason to send an invalid object more than twice, and the refusal is reported', async () => {
    using cluster = await playedCluster();
    cluster.api.put(services, service([['web', 90]]));
    cluster.api.meets = ({ verb }) => (verb === 'apply' || verb === 'patch' ? refuse(422, 'Invalid', 'not so') : undefined);
    const { problems, failed } = await carry(cluster, service([['web', 80]]));
    assert.deepEqual([problems[0]?.resource, problems[0]?.code], ['Listener/web', 'object-refused']);
    assert.match(problems[0]?.message ?? '', /^Service web cannot be written: "not so"/);
    assert.ok(failed instanceof Error);
    assert.equal(cluster.api.writes.length, 2);
  });
});

test('an object that another client changed meanwhile is reconciled again without a report', async () => {
  using cluster = await playedCluster();
  cluster.api.meets = () => refuse(409, 'Conflict', 'the object has been modified');
  const { problems, failed } = await carry(cluster, service([['web', 80]]));
  assert.deepEqual(problems, []);
  assert.ok(failed instanceof Error);
});

test('an object that is replaced before it can be applied belongs to its owner by then', async () => {
  using cluster = await playedCluster(new ApiWithOthers());
  cluster.api.put(services, service([['web', 80]]));
  const owners: unknown[] = [];
  // An object refused as invalid does not get this far.
  cluster.api.meets = ({ verb }) => {
    if (verb === 'apply') owners.push(cluster.api.read(services, 'ns/web')?.metadata.ownerReferences?.map(({ uid }) => uid));
  };
  await carry(cluster, service([['web', 81]], {}, { ownerReferences: [owner('ours')] }));
  assert.deepEqual(owners, [['ours']]);
});

describe('what differs from what is wanted', () => {
  for (const [what, change, writes] of [
    ['a label more in a selector is taken out', service([['web', 80]], { selector: { app: 'router', more: 'x' } }), 2],
    ["a label more on the object is others'", service([['web', 80]], { selector: { app: 'router' } }, { labels: { theirs: 'x' } }), 0],
    [
      "an owner more is others'",
      service([['web', 80]], { selector: { app: 'router' } }, { ownerReferences: [owner('other'), owner('ours')] }),
      0,
    ],
    ['an owner that is missing is put there', service([['web', 80]], { selector: { app: 'router' } }, { ownerReferences: [] }), 2],
  ] as const) {
    test(what, async () => {
      using cluster = await playedCluster();
      const desired = service([['web', 80]], { selector: { app: 'router' } }, { ownerReferences: [owner('ours')] });
      await carry(cluster, desired);
      const created = cluster.api.read(services, 'ns/web') ?? assert.fail();
      cluster.api.put(services, {
        ...created,
        metadata: { ...created.metadata, ...change.metadata, ...ownersOf(change, created) },
        spec: { ...created.spec, ...change.spec },
      });
      const before = cluster.api.writes.length;
      await carry(cluster, desired);
      assert.equal(cluster.api.writes.length - before, writes);
    });
  }
});

describe('what is of a Site that is gone', () => {
  const ofBefore = service([['web', 80]], {}, { ownerReferences: [owner('before')] });
  const desired = service([['web', 80]], {}, { ownerReferences: [owner('ours')] });

  test('is deleted, and created again once it is gone', async () => {
    using cluster = await playedCluster();
    const { metadata } = cluster.api.put(services, ofBefore);
    cluster.api.hold(services);
    await carry(cluster, desired);
    assert.deepEqual(cluster.api.writes, ['delete services ns/web']);
    cluster.api.release(services);
    await carry(cluster, desired);
    assert.deepEqual(cluster.api.writes.slice(1), ['create services ns/web']);
    assert.notEqual(cluster.api.read(services, 'ns/web')?.metadata.uid, metadata.uid);
  });

  test('is left alone while it is being deleted already', async () => {
    using cluster = await playedCluster();
    cluster.api.put(services, { ...ofBefore, metadata: { ...ofBefore.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    assert.deepEqual(await carry(cluster, desired), { problems: [], failed: undefined });
    assert.deepEqual(cluster.api.writes, []);
  });
});

describe("a write that conflicts with another client's", () => {
  test('is retried, and reported in no status', async () => {
    using cluster = await playedCluster();
    cluster.api.put(services, service([['web', 90]]));
    cluster.api.meets = ({ verb }) => (verb === 'apply' ? refuse(409, 'Conflict', 'the object has been modified') : undefined);
    const { problems, failed } = await carry(cluster, service([['web', 80]]));
    assert.deepEqual(problems, []);
    assert.ok(failed instanceof Error);
  });
});

const ownersOf = (change: Service, created: Service) => ({
  ownerReferences: change.metadata.ownerReferences ?? created.metadata.ownerReferences ?? [],
});

test('objects that need others are created after them, in any order of the desired state', async () => {
  using cluster = await playedCluster();
  const { api, caches, signal } = cluster;
  const planned = [roleBindings, deployments, roles, serviceAccounts].map((of): DesiredObject => {
    const object = {
      apiVersion: of.group === '' ? 'v1' : `${of.group}/v1`,
      kind: of.kind,
      metadata: { namespace: 'ns', name: 'skupper-router' },
    };
    return { of, object, for: 'Site/west' };
  });
  await applyDesired(
    { objects: planned, obsolete: [] },
    {
      namespace: 'ns',
      caches,
      client: api,
      repairs: new Repairs({ client: api }),
      settled: new SettledObjects(),
      site: undefined,
      slices: new TimeSlices(new RoundRobin(), 'ns'),
      signal,
    },
  );
  const created = api.calls.filter((call) => call.startsWith('create ')).map((call) => call.split(' ')[1]);
  assert.deepEqual(created, ['roles', 'serviceaccounts', 'rolebindings', 'deployments']);
});

test('a created object counts as applied before a change, so that obsolete fields are removed', async () => {
  using cluster = await playedCluster();
  const { api } = cluster;
  await carry(cluster, service([['web', 80]], {}, { labels: { more: 'x' } }));
  const created = api.read(services, 'ns/web') ?? assert.fail();
  const entry = { manager: FIELD_MANAGER, operation: 'Update', fieldsV1: { 'f:spec': {} } };
  const theirs = [
    { ...entry, manager: 'kubectl' },
    { ...entry, subresource: 'status' },
  ];
  api.put(services, { ...created, metadata: { ...created.metadata, managedFields: [entry, ...theirs] } });
  const held: unknown[] = [];
  api.meets = ({ verb }) => void (verb === 'apply' && held.push(api.read(services, 'ns/web')?.metadata.managedFields));
  for (const _again of [1, 2]) await carry(cluster, service([['web', 80]]));
  await carry(cluster, service([['web', 81]]));
  assert.deepEqual(api.writes, ['create services ns/web', 'patch services ns/web', 'apply services ns/web', 'apply services ns/web']);
  assert.deepEqual(held[0], [{ ...entry, operation: 'Apply' }, ...theirs]);
});

describe('an object that was made meanwhile', () => {
  test('by the controller that led before keeps what it was made with', async () => {
    using cluster = await playedCluster();
    cluster.api.hold(services);
    cluster.api.put(services, service([['web', 1025]]));
    const { problems, failed } = await carry(cluster, service([['web', 1024]]));
    assert.deepEqual(problems, []);
    assert.ok(failed instanceof Error, 'it is looked at again');
    assert.deepEqual(after(cluster), [['web', 1025]]);
  });

  test('and deleted again is not created from its earlier state', async () => {
    using cluster = await playedCluster();
    cluster.api.put(services, service([['web', 90]]));
    cluster.api.hold(services);
    cluster.api.remove(services, 'ns/web');
    const { problems, failed } = await carry(cluster, service([['web', 80]]));
    assert.deepEqual(problems, []);
    assert.ok(failed instanceof Error, 'it is looked at again');
    assert.equal(cluster.api.read(services, 'ns/web'), undefined);
  });
});
