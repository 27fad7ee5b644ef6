/**
 * Every object that Earshot writes under admission policies that change it: a label, an annotation, a variable, a sidecar and a digest, added on
 * create and on update. Each case has a namespace of its own, and all run at once.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Site } from '../../src/api/skupper/index.ts';
import type { Deployment, KubeObject } from '../../src/kube/objects.ts';
import { run } from '../harness/command.ts';
import { SANDBOX_IMAGE } from '../harness/images.ts';
import { BUSYBOX_IMAGE, eventually } from '../harness/index.ts';
import { auditFromNow, describeRequest } from './support/audit.ts';
import { earshotImage } from './support/earshot.ts';
import { API, byClass, pod, type Manifest } from './support/manifests.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { linkByToken, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';
import { writtenKinds } from './support/written-kinds.ts';

const REGISTRATION = 'admissionregistration.k8s.io/v1';
const MARK = 'admission-matrix.example';
type Operation = 'CREATE' | 'UPDATE';
type Change = 'label' | 'annotation' | 'variable' | 'sidecar' | 'digest';

interface RouterDeployment extends Deployment {
  readonly spec: NonNullable<Deployment['spec']> & {
    readonly template: { readonly spec: { readonly containers: readonly { readonly name: string; readonly args?: readonly string[] }[] } };
  };
}

/** Digests of images that are on every node, by reference. */
const digests = new Map<string, string>();

/** CEL for a list of containers at `path`, which server-side apply merges by name. */
function containers(change: Change, path: string): string {
  const type = `Object.${path}.containers`;
  switch (change) {
    case 'variable':
      return `object.${path}.containers.map(one, ${type}{name: one.name, env: [${type}.env{name: "COST_CENTER", value: "42"}]})`;
    case 'sidecar':
      return `[${type}{name: "sidecar", image: "${SANDBOX_IMAGE}"}]`;
    case 'digest': {
      const pinned = [...digests].map(([image, digest]) => `one.image == "${image}" ? "${image}@${digest}" : `).join('');
      return `object.${path}.containers.map(one, ${type}{name: one.name, image: ${pinned}one.image})`;
    }
    default:
      throw new TypeError(`${change} changes no container`);
  }
}

function expressionFor(change: Change, resource: string): string {
  if (change === 'label') return `Object{metadata: Object.metadata{labels: {"${MARK}": "42"}}}`;
  // Another value with each update, as of one who writes down when an object was changed last.
  if (change === 'annotation') {
    const value = '"at-" + (oldObject == null ? "first" : oldObject.metadata.resourceVersion)';
    return `Object{metadata: Object.metadata{annotations: {"${MARK}": ${value}}}}`;
  }
  return resource === 'pods'
    ? `Object{spec: Object.spec{containers: ${containers(change, 'spec')}}}`
    : `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ${containers(change, 'spec.template.spec')}}}}}`;
}

/** What a policy of a case is for: most kinds have no containers, and those of a pod do not change. */
function resourceRules(change: Change, operation: Operation): readonly (readonly [group: string, resource: string])[] {
  if (change === 'label' || change === 'annotation') return writtenKinds.map(({ group, resource }) => [group, resource] as const);
  return operation === 'CREATE'
    ? [
        ['apps', 'deployments'],
        ['', 'pods'],
      ]
    : [['apps', 'deployments']];
}

function policies(name: string, change: Change, operation: Operation): readonly Manifest[] {
  const rules = resourceRules(change, operation);
  const apart = change === 'label' || change === 'annotation' ? [rules] : rules.map((rule) => [rule]);
  return apart.flatMap((of, index): readonly Manifest[] => {
    const metadata = { name: `${name}-${index}` };
    return [
      {
        apiVersion: REGISTRATION,
        kind: 'MutatingAdmissionPolicy',
        metadata,
        spec: {
          failurePolicy: 'Fail',
          reinvocationPolicy: 'IfNeeded',
          matchConstraints: {
            namespaceSelector: { matchLabels: { [MARK]: name } },
            resourceRules: of.map(([group, resource]) => ({
              apiGroups: [group],
              apiVersions: ['*'],
              operations: [operation],
              resources: [resource],
            })),
          },
          // A selector of namespaces selects all that is in none.
          matchConditions: [
            {
              name: 'in-the-namespace',
              expression: `has(request.namespace) || (request.resource.resource == "persistentvolumes" && object.spec.?claimRef.?namespace.orValue("") == "${name}")`,
            },
          ],
          mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: expressionFor(change, of[0]?.[1] ?? '') } }],
        },
      } as Manifest,
      { apiVersion: REGISTRATION, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: metadata.name } } as Manifest,
    ];
  });
}

const pathOf = (kind: string, name = ''): string =>
  `/apis/${REGISTRATION}/${kind === 'MutatingAdmissionPolicy' ? 'mutatingadmissionpolicies' : 'mutatingadmissionpolicybindings'}${name === '' ? '' : `/${name}`}`;

/** The API server looks for new policies now and then. */
async function untilActive(namespace: Namespace, operation: Operation): Promise<void> {
  const { api } = namespace.cluster;
  const path = `/apis/apps/v1/namespaces/${namespace.name}/deployments`;
  const probe = webDeployment('probe', 0);
  const clean = JSON.stringify(await api.create<{ spec: unknown }>(`${path}?dryRun=All`, probe).then(({ spec }) => spec));
  if (operation === 'UPDATE' && (await api.find(`${path}/probe`)) === undefined) await api.create(path, probe);
  await eventually(`the policies of ${namespace.name}`, async () => {
    const seen =
      operation === 'CREATE'
        ? await api.create<KubeObject & { spec: unknown }>(`${path}?dryRun=All`, probe)
        : await api.patch<KubeObject & { spec: unknown }>(`${path}/probe?dryRun=All`, { metadata: { annotations: { touched: 'x' } } });
    const { labels, annotations } = seen.metadata;
    const isMarked = labels?.[MARK] !== undefined || annotations?.[MARK] !== undefined;
    return isMarked || /COST_CENTER|sidecar|@sha256/.test(JSON.stringify(seen.spec)) || JSON.stringify(seen.spec) !== clean
      ? true
      : undefined;
  });
  if (operation === 'UPDATE') await api.remove(`${path}/probe`);
}

const cases = (['CREATE', 'UPDATE'] as const).flatMap((operation) =>
  (['label', 'annotation', 'variable', 'sidecar', 'digest'] as const).map((change) => ({ change, operation })),
);

describe('objects that admission of the cluster changes', { timeout: 580_000, concurrency: 3 }, () => {
  // Before the namespace's own, which closes the connection.
  after(async () => {
    for (const { kind, metadata } of registered.toReversed()) await cluster.api.remove(pathOf(kind ?? '', metadata.name));
  });
  const hub = useNamespace('matrix-hub', { inside: { serviceType: 'ClusterIP' } });
  const { cluster } = hub;
  const registered: Manifest[] = [];

  before(async () => {
    for (const image of [await earshotImage(cluster), BUSYBOX_IMAGE]) {
      for (const { name } of cluster.nodes) digests.set(image, await giveDigest(name, image));
    }
    await hub.create(skupper('Site', 'hub', { linkAccess: 'local' }), webDeployment('web', 1));
    await untilCondition(hub, 'Site', 'hub');
  });
  /** As a registry would: containerd finds an image by its digest only under such a name. */
  async function giveDigest(node: string, image: string): Promise<string> {
    const layout = cluster.layout.nodes.find((each) => each.name === node) ?? assert.fail();
    const ctr = (...args: readonly string[]): Promise<string> =>
      run('ctr', ['--address', layout.containerdSocket, '--namespace', 'k8s.io', 'images', ...args]);
    const digest = /sha256:[0-9a-f]{64}/.exec(await ctr('ls', `name==${image}`))?.[0] ?? assert.fail(`${image} is not on ${node}`);
    await ctr('tag', '--force', image, `${image.replace(/:[^:/]+$/, '')}@${digest}`);
    return digest;
  }

  for (const { change, operation } of cases) {
    describe(`by a ${change} on ${operation}`, { concurrency: 1 }, () => {
      const namespace = useNamespace(`matrix-${change}-${operation.toLowerCase()}`);
      const hasAll = change === 'label' || change === 'annotation';

      before(async () => {
        await cluster.api.patch(`/api/v1/namespaces/${namespace.name}`, { metadata: { labels: { [MARK]: namespace.name } } });
        for (const manifest of policies(namespace.name, change, operation)) {
          registered.push(manifest);
          await cluster.api.create(pathOf(manifest.kind ?? ''), manifest);
        }
        await untilActive(namespace, operation);
        await namespace.create(
          skupper('Site', 'site', { linkAccess: 'local', ha: hasAll }),
          skupper('Listener', 'web', { routingKey: 'web', host: 'web', port: 8080 }),
          skupper('AttachedConnectorBinding', namespace.name, { connectorNamespace: hub.name, routingKey: 'attached' }),
          {
            apiVersion: API,
            kind: 'Listener',
            metadata: { name: 'users' },
            spec: { className: hub.className('inside'), ports: [{ name: 'http', port: 80 }] },
          },
          pod('mounts', { volumes: { address: byClass(hub.className('inside')) }, ports: [{ name: 'http', containerPort: 8080 }] }),
        );
        await hub.create(skupper('AttachedConnector', namespace.name, { siteNamespace: namespace.name, selector: 'app=web', port: 8080 }));
      });

      it('are made, and work', async () => {
        await Promise.all([
          namespace.running('mounts'),
          namespace.ready('users'),
          untilCondition(namespace, 'Listener', 'web', 'Configured', { timeoutMs: 120_000 }),
          linkByToken(namespace, hub, namespace.name),
        ]);
        const { status } = await untilCondition<Site & Manifest>(namespace, 'Site', 'site');
        assert.equal(status?.message, 'OK');
        if (operation === 'CREATE' && hasAll) assert.deepEqual(await unmarked(namespace), []);
      });

      it('change with what they are made for', async () => {
        await namespace.patch(SKUPPER, 'Site', 'site', { spec: { settings: { 'router-logging': 'debug' } } });
        await namespace.patch(SKUPPER, 'Listener', 'web', { spec: { port: 8081 } });
        await namespace.patch(API, 'Listener', 'users', { spec: { ports: [{ name: 'http', port: 81 }] } });
        await namespace.until<RouterDeployment>(
          { apiVersion: 'apps/v1', kind: 'Deployment', name: 'skupper-router' },
          'to have the level of its log',
          ({ spec }) => spec.template.spec.containers.some(({ args }) => args?.includes('--log-level=debug') === true),
        );
        for (const [name, port] of [
          ['web', 8081],
          ['users', 81],
        ] as const) {
          await namespace.untilService(
            name,
            `to have port ${port}`,
            ({ spec }) => spec?.ports?.some((each) => each.port === port) === true,
          );
        }
        const { status } = await untilCondition<Site & Manifest>(namespace, 'Site', 'site');
        assert.equal(status?.message, 'OK');
      });

      it('are not written again and again when something else changes', async () => {
        await eventually(
          'one router of each group',
          async () => {
            const pods = await cluster.api.get<{ items: readonly (KubeObject & { status?: { phase?: string } })[] }>(
              `/api/v1/namespaces/${namespace.name}/pods?labelSelector=skupper.io%2Fcomponent%3Drouter`,
            );
            return pods.items.length === (hasAll ? 2 : 1) && pods.items.every(({ metadata }) => metadata.deletionTimestamp === undefined);
          },
          { timeoutMs: 180_000 },
        );
        const audit = await auditFromNow(cluster);
        // Each brings several passes over the namespace.
        for (const [index, name] of ['barrier-1', 'barrier-2', 'barrier-3'].entries()) {
          await namespace.create(skupper('Listener', name, { routingKey: name, host: name, port: 9000 + index }));
          await untilCondition(namespace, 'Listener', name, 'Configured');
        }
        await audit.settle();
        const others = audit
          .changes(namespace.name)
          .filter(({ objectRef: { name = '', subresource } = {} }) => {
            return !name.startsWith('barrier-') && subresource !== 'status' && name !== 'skupper-network-status';
          })
          .map(describeRequest);
        // A controller that has just begun to lead writes each once, without effect.
        const repeated = others.filter((request, index) => others.indexOf(request) !== index);
        assert.deepEqual(repeated, []);
      });
    });
  }

  describe('where a policy changes the spec of a pod', { concurrency: 1 }, () => {
    const namespace = useNamespace('matrix-spec');
    before(async () => {
      await cluster.api.patch(`/api/v1/namespaces/${namespace.name}`, { metadata: { labels: { [MARK]: namespace.name } } });
      const [policy, binding] = policies(namespace.name, 'label', 'UPDATE');
      const expression =
        '[JSONPatch{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{key: "matrix", operator: "Exists"}}]';
      const spec = {
        ...(policy?.spec as object),
        matchConstraints: {
          namespaceSelector: { matchLabels: { [MARK]: namespace.name } },
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['pods'] }],
        },
        matchConditions: [
          { name: 'once', expression: '!object.spec.?tolerations.orValue([]).exists(one, one.?key.orValue("") == "matrix")' },
        ],
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
      };
      for (const manifest of [{ ...policy, spec } as Manifest, binding as Manifest]) {
        registered.push(manifest);
        await cluster.api.create(pathOf(manifest.kind ?? ''), manifest);
      }
      await namespace.create(pod('probe'));
      await eventually('the policy', async () => {
        const path = `/api/v1/namespaces/${namespace.name}/pods/probe?dryRun=All`;
        const { spec: seen } = await cluster.api.patch<Manifest>(path, { metadata: { annotations: { touched: 'x' } } });
        return JSON.stringify(seen).includes('"matrix"');
      });
    });

    it('the pod receives an event with the changed field and the remedy', async () => {
      await namespace.create(pod('mounts', { volumes: { address: byClass(hub.className('inside')) } }));
      const expected =
        /Changed: spec\.tolerations\. If another admission policy or webhook changed it, exclude requests of system:serviceaccount:/;
      const { message } = await namespace.event({ kind: 'Pod', name: 'mounts' }, expected);
      assert.ok(!message.includes('RBAC'));
    });
  });

  /** Kinds of the matrix without a marked object in the namespace: the policy has not met them. */
  async function unmarked(namespace: Namespace): Promise<readonly string[]> {
    const missing: string[] = [];
    for (const { group, resource, notWritten } of writtenKinds) {
      if (notWritten !== undefined) continue;
      const of = group === '' ? resource : `${resource}.${group}`;
      const text = await cluster.kubectl(['get', of, '--namespace', namespace.name, '--output=json']);
      if (!text.includes(`"${MARK}"`)) missing.push(of);
    }
    return missing;
  }
});
