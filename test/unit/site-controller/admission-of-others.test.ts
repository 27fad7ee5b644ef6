/** Objects that admission changes with every write: accepted, reported if a desired field changed, and not written again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasAll, hasMore } from '../../../src/site-controller/matches-desired.ts';
import { applyDesired, type ApplyResult } from '../../../src/site-controller/apply-desired.ts';
import { TimeSlices } from '../../../src/limits/loop/time-slices.ts';
import { RoundRobin } from '../../../src/limits/loop/round-robin.ts';
import { Repairs } from '../../../src/site-controller/repairs.ts';
import { SettledObjects } from '../../../src/site-controller/settled-objects.ts';
import { changedFields, formatField } from '../../../src/kube/changed-fields.ts';
import type { Deployment, KubeObject } from '../../../src/kube/objects.ts';
import { deployments } from '../../../src/kube/resource.ts';
import { playedCluster, type PlayedCluster } from './support/played-cluster.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

interface RouterDeployment extends Deployment {
  readonly spec: NonNullable<Deployment['spec']> & {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

const router: Container = { name: 'router', image: 'registry/earshot:1', env: [{ name: 'SITE_NAME', value: 'west' }] };

function deployment(containers: readonly Container[] = [router], metadata: object = {}): RouterDeployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'ns', name: 'skupper-router', labels: { 'skupper.io/component': 'router' }, ...metadata },
    spec: { replicas: 1, selector: { matchLabels: { app: 'router' } }, template: { spec: { containers } } },
  } as RouterDeployment;
}

type Admission = (object: RouterDeployment) => RouterDeployment;

const withContainers = (
  object: RouterDeployment,
  change: (containers: readonly Container[]) => readonly Container[],
): RouterDeployment => ({
  ...object,
  spec: { ...object.spec, template: { spec: { containers: change(object.spec.template.spec.containers) } } },
});
const withEnv: Admission = (object) =>
  withContainers(object, ([first = router, ...rest]) => {
    const env = (first.env ?? []).filter(({ name }) => name !== 'COST');
    return [{ ...first, env: [...env, { name: 'COST', value: '42' }] }, ...rest];
  });
const withImage =
  (image: string): Admission =>
  (object) =>
    withContainers(object, (containers) => containers.map((each) => ({ ...each, image })));

const admissions: readonly (readonly [what: string, admission: Admission, changed: string])[] = [
  ['a label', (object) => ({ ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, cost: '42' } } }), ''],
  [
    'an annotation',
    (object) => ({ ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, a: 'b' } } }),
    '',
  ],
  ['an env variable', withEnv, ''],
  [
    'a sidecar before the router',
    (object) => withContainers(object, (all) => [{ name: 'proxy', image: 'proxy:1' }, ...all.filter(({ name }) => name === 'router')]),
    '',
  ],
  ['the digest of the image', withImage('registry/earshot:1@sha256:0123'), ''],
  ['the digest in place of the tag', withImage('registry/earshot@sha256:0123'), ''],
  ['another image', withImage('mirror/earshot:1'), 'spec.template.spec.containers[router].image'],
  ['another number of replicas', (object) => ({ ...object, spec: { ...object.spec, replicas: 2 } }), 'spec.replicas'],
];

describe('what admission does to every write of an object', () => {
  const carry = ({ api, caches, signal }: PlayedCluster, object: Deployment, settled: SettledObjects): Promise<ApplyResult> =>
    applyDesired(
      { objects: [{ of: deployments, object, for: 'Site/west' }], obsolete: [] },
      {
        namespace: 'ns',
        caches,
        client: api,
        repairs: new Repairs({ client: api }),
        settled,
        site: undefined,
        slices: new TimeSlices(new RoundRobin(), 'ns'),
        signal,
      },
    );

  for (const [what, admission, changed] of admissions) {
    it(`${what}: is written once when it is created and when it changes, and ${changed === '' ? 'nothing is reported' : `${changed} is reported`}`, async () => {
      using cluster = await playedCluster();
      cluster.api.prunes = (_of, object) => admission(object as unknown as RouterDeployment) as unknown as typeof object;
      const settled = new SettledObjects();
      for (const [image, most] of [
        ['registry/earshot:1', 1],
        ['registry/earshot:1', 0],
        ['registry/earshot:2', 3],
        ['registry/earshot:2', 0],
      ] as const) {
        const before = cluster.api.writes.length;
        const desired = deployment([{ ...router, image }]);
        const { problems, failed } = await carry(cluster, desired, settled);
        assert.equal(failed, undefined);
        assert.ok(cluster.api.writes.length - before <= most, `${image}: ${cluster.api.writes.slice(before).join(', ')}`);
        if (image === 'registry/earshot:2') continue;
        assert.deepEqual(
          problems.map(({ severity, code }) => `${severity} ${code}`),
          changed === '' ? [] : ['warning changed-by-admission'],
        );
        assert.ok(problems.every(({ message }) => message.includes(`Deployment skupper-router (${changed})`)));
      }
    });
  }

  it('is no reason to keep a later change of another client', async () => {
    using cluster = await playedCluster();
    cluster.api.prunes = (_of, object) => withEnv(object as unknown as RouterDeployment) as unknown as typeof object;
    const settled = new SettledObjects();
    await carry(cluster, deployment(), settled);
    const created = cluster.api.read(deployments, 'ns/skupper-router') ?? assert.fail();
    cluster.api.put(deployments, { ...created, spec: { ...created.spec, replicas: 0 } } as Deployment);
    await carry(cluster, deployment(), settled);
    assert.equal((cluster.api.read(deployments, 'ns/skupper-router') as RouterDeployment).spec.replicas, 1);
  });
});

describe('a list with more in it than is wanted', () => {
  const recorded = (...containers: readonly string[]): KubeObject['metadata'] => ({
    managedFields: [
      {
        manager: 'someone',
        fieldsV1: {
          'f:spec': {
            'f:template': {
              'f:spec': { 'f:containers': Object.fromEntries(containers.map((name) => [`k:{"name":"${name}"}`, { 'f:env': {} }])) },
            },
          },
        },
      },
    ],
  });
  const sidecar: Container = { name: 'proxy', image: 'proxy:1' };

  it('has it from another manager where managed fields name it', () =>
    assert.equal(hasMore(deployment([sidecar, router], recorded('router', 'proxy')), deployment()), true));
  it('has it from admission where none names it', () =>
    assert.equal(hasMore(deployment([sidecar, router], recorded('router')), deployment()), false));
  it('counts as longer where nothing is recorded', () => assert.equal(hasMore(deployment([router, sidecar]), deployment()), true));
});

it('fields that differ are named by their paths, and what was added is not', () => {
  const desired = { spec: { selector: { a: 'b' }, ports: [{ name: 'x', port: 1 }], type: 'ClusterIP' } };
  const changed = (spec: object): readonly string[] => changedFields({ spec }, desired, hasAll).map(formatField);
  const ports = [
    { name: 'y', port: 2 },
    { name: 'x', port: 1, nodePort: 3 },
  ];
  assert.deepEqual(changed({ ...desired.spec, ports }), []);
  assert.deepEqual(changed({ selector: { a: 'b', c: 'd' }, ports: [{ name: 'x', port: 2 }] }), [
    'spec.selector',
    'spec.ports[x].port',
    'spec.type',
  ]);
});
