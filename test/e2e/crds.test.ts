/** The definitions on a real API server, of a cluster of its own: they replace an earlier system's, which others would notice. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CustomResourceDefinition } from '../../src/api/crd.ts';
import { customResourceDefinitions } from '../../src/api/listeners/crds.ts';
import { install } from '../../src/exposure/installation.ts';
import { createClient } from '../../src/kube/client/client.ts';
import { loadConfig } from '../../src/kube/client/config.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { skupperDefinitions } from '../../src/api/skupper/crds.ts';
import { networkObserverDefinition } from '../../src/api/skupper/network-observer-definition.ts';
import { eventually, HarnessError, startCluster, type Cluster } from '../harness/index.ts';
import { earlierDefinitions } from '../unit/api/earlier-definitions.ts';
import { productRoles } from '../unit/exposure/product-manifests.ts';
import { documentedManifests } from './documented-manifests.ts';

interface Stored {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: unknown;
}

interface Manifest {
  readonly kind: keyof typeof pathOf;
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly object[] };
  readonly spec: object;
}

interface Definition {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly conversion?: object };
  readonly status?: {
    readonly storedVersions?: readonly string[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const apiVersion = 'listeners.stackable.tech/v1alpha1';
const group = `/apis/${apiVersion}`;
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const namesOf = (of: readonly CustomResourceDefinition[]) => of.map(({ metadata }) => metadata.name ?? '');
const names = namesOf(customResourceDefinitions());
const connectionGroup = '/apis/skupper.io/v2alpha1/namespaces/default';

const pathOf = {
  ListenerClass: `${group}/listenerclasses`,
  Listener: `${group}/namespaces/default/listeners`,
  PodListeners: `${group}/namespaces/default/podlisteners`,
};

/** What an earlier system let in, sensible or not. */
const earlierObjects: readonly Manifest[] = [
  {
    kind: 'ListenerClass',
    metadata: { name: 'routes' },
    spec: { serviceType: 'OpenShiftRoute', openshiftRoute: { termination: 'passthrough' } },
  },
  {
    kind: 'ListenerClass',
    metadata: { name: 'with-nulls' },
    spec: { serviceType: 'NodePort', loadBalancerClass: null, serviceOverrides: { metadata: { labels: { removed: null } } } },
  },
  { kind: 'Listener', metadata: { name: 'empty' }, spec: {} },
  { kind: 'Listener', metadata: { name: 'nulls' }, spec: { className: null, ports: null, publishNotReadyAddresses: null } },
  {
    kind: 'Listener',
    metadata: { name: 'odd-ports' },
    spec: {
      className: '../..',
      ports: [
        { name: 'a', port: 0 },
        { name: 'a', port: -1, protocol: 'tcp' },
        { name: '', port: 2_147_483_647, protocol: null },
      ],
      objectOverrides: [{}, { apiVersion: 'v1', spec: { deep: [{ er: null }] } }],
    },
  },
  {
    kind: 'PodListeners',
    metadata: { name: 'pod-00000000-0000-4000-8000-000000000001' },
    spec: {
      listeners: {
        address: { scope: 'Node', ingressAddresses: [{ address: '192.0.2.1', addressType: 'IP', ports: { http: 31_080 } }] },
        pending: { scope: 'Cluster', ingressAddresses: null },
      },
    },
  },
];

describe('the definitions', () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await startCluster({ name: 'crds', nodes: 1, dns: false });
  });
  after(() => cluster.stop());

  const create = (object: Manifest) => cluster.api.create<Stored>(pathOf[object.kind], { apiVersion, ...object });
  const get = (kind: keyof typeof pathOf, name: string) => cluster.api.get<Stored>(`${pathOf[kind]}/${name}`);
  const applyOurs = async (ours = customResourceDefinitions()) => {
    for (const definition of ours) {
      const path = `${definitionsPath}/${definition.metadata.name}?fieldManager=earshot&force=true`;
      await cluster.api.patch(path, definition, 'application/apply-patch+yaml');
    }
  };
  /** As the controller does when it starts. */
  const installOurs = async () => {
    await using client = createClient({
      config: await loadConfig({ kubeconfig: cluster.kubeconfig }),
      userAgent: 'crds-test/1',
      fieldManager: 'earshot',
    });
    const log = createLogger({ level: 'error', component: 'test' });
    await install(client, { manageDefinitions: true, preset: 'none', log }, AbortSignal.timeout(30_000));
  };
  const definitions = (of = names) => Promise.all(of.map((name) => cluster.api.get<Definition>(`${definitionsPath}/${name}`)));
  const areEstablished = async (of = names) =>
    (await definitions(of)).every(({ status: { conditions = [] } = {} }) =>
      conditions.some(({ type, status }) => type === 'Established' && status === 'True'),
    );

  it('take the place of an earlier system’s without a change to any object', async () => {
    for (const earlier of earlierDefinitions()) await cluster.api.create(definitionsPath, withAbandonedWebhook(earlier));
    await eventually('the earlier definitions to be established', () => areEstablished());
    const stored: Stored[] = [];
    for (const object of earlierObjects) stored.push(await eventually(`${object.kind} to be served`, () => create(object)));
    const { status } = await cluster.api.patch<Stored>(`${pathOf.Listener}/odd-ports/status`, {
      status: { serviceName: 'odd-ports', ingressAddresses: [{ address: 'a', addressType: 'Hostname', ports: {} }], nodePorts: { a: 0 } },
    });

    // By this selector the controller distinguishes the definitions in force.
    const selected = `${group}/podlisteners?fieldSelector=${encodeURIComponent('spec.nodeName!=-')}`;
    await assert.rejects(cluster.api.get(selected), /field label not supported: spec.nodeName/);
    await installOurs();
    const { items } = await eventually('our PodListeners to be served', () => cluster.api.get<{ items: Stored[] }>(selected));
    assert.equal(items.length, earlierObjects.filter(({ kind }) => kind === 'PodListeners').length);
    await eventually('our definitions to be served', async () => (await get('ListenerClass', 'routes')).spec['nodeLossPolicy'] === 'Keep');

    for (const [index, old] of stored.entries()) {
      const { kind } = earlierObjects[index] ?? assert.fail();
      const now = await get(kind, old.metadata.name);
      const { nodeLossPolicy: _added, objectOverridesPolicy: _alsoAdded, ...spec } = now.spec;
      assert.deepEqual(spec, old.spec, old.metadata.name);
      assert.equal(now.metadata.uid, old.metadata.uid);
    }
    assert.deepEqual((await get('Listener', 'odd-ports')).status, status);
    for (const { spec, status: { storedVersions } = {} } of await definitions()) {
      assert.deepEqual([storedVersions, spec.conversion], [['v1alpha1'], { strategy: 'None' }]);
    }
  });

  it('let the objects of an earlier system be changed, and written again', async () => {
    for (const { kind, metadata, spec } of earlierObjects) {
      const path = `${pathOf[kind]}/${metadata.name}`;
      await cluster.api.patch(path, { metadata: { labels: { changed: 'yes' } } });
      await cluster.api.patch(path, { spec });
      await cluster.api.remove(path);
      const again = await eventually(`${metadata.name} to be gone and written again`, () => create({ kind, metadata, spec }));
      assert.deepEqual({ ...again.spec, ...spec }, again.spec, metadata.name);
    }
  });

  it('take what operators of products apply, null and all, as it is', async () => {
    for (const { listener } of productRoles) {
      if (listener === undefined) continue;
      const path = `${pathOf.Listener}/${listener.metadata.name}?fieldManager=product&force=true`;
      const { spec } = await cluster.api.patch<Stored>(path, listener, 'application/apply-patch+yaml');
      assert.deepEqual(spec, listener.spec);
    }
  });

  it('are plain to the API server: structural, established, and unchanged when applied again', async () => {
    const applied = await definitions();
    assert.ok(await areEstablished());
    assert.deepEqual(
      applied.flatMap(({ status }) => status?.conditions?.filter(({ type }) => type === 'NonStructuralSchema') ?? []),
      [],
    );
    await applyOurs();
    const versionsOf = (of: readonly Definition[]) => of.map(({ metadata }) => metadata.resourceVersion);
    assert.deepEqual(versionsOf(await definitions()), versionsOf(applied));
  });

  it('fill in what is left out', async () => {
    assert.deepEqual((await create(listenerClass('minimal'))).spec, {
      serviceType: 'ClusterIP',
      loadBalancerAllocateNodePorts: true,
      serviceAnnotations: {},
      preferredAddressType: 'HostnameConservative',
      pinnedNodePorts: false,
      serviceOverrides: {},
      nodeLossPolicy: 'Keep',
      objectOverridesPolicy: 'Any',
    });
    assert.deepEqual((await create({ kind: 'Listener', ...named('minimal'), spec: {} })).spec, {
      extraPodSelectorLabels: {},
      objectOverrides: [],
      publishNotReadyAddresses: true,
    });
    assert.deepEqual((await create({ kind: 'PodListeners', ...named('minimal'), spec: { nodeName: 'a', mounts: { handle: {} } } })).spec, {
      listeners: {},
      mounts: { handle: {} },
      nodeName: 'a',
    });
  });

  it('keep null where the reference says so, and drop it elsewhere', async () => {
    const kept = { serviceType: 'ClusterIP', loadBalancerClass: null, openshiftRoute: null, serviceExternalTrafficPolicy: null };
    const dropped = { preferredAddressType: null, serviceAnnotations: null };
    const { spec } = await create({ kind: 'ListenerClass', ...named('null'), spec: { ...kept, ...dropped } });
    assert.deepEqual({ ...spec, ...kept }, spec);
    const { preferredAddressType, serviceAnnotations } = spec;
    assert.deepEqual([preferredAddressType, serviceAnnotations], ['HostnameConservative', {}]);
    // Server-side apply refuses a null where none is allowed.
    const applied = { apiVersion, kind: 'ListenerClass', metadata: { name: 'null-applied' }, spec: kept };
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(applied) });
    assert.deepEqual({ ...(await get('ListenerClass', 'null-applied')).spec, ...kept }, (await get('ListenerClass', 'null-applied')).spec);
    await assert.rejects(
      create({ ...listenerClass('other-policy'), spec: { serviceType: 'ClusterIP', serviceExternalTrafficPolicy: 'local' } }),
      /serviceExternalTrafficPolicy.*should match/,
    );
  });

  it('refuse a word that no system knows, naming those that are known', async () => {
    const refusal = /serviceType: Unsupported value: "nodeport": supported values: "NodePort", "LoadBalancer"/;
    await assert.rejects(create({ ...listenerClass('wrong'), spec: { serviceType: 'nodeport' } }), refusal);
  });

  it('hold a pod’s PodListeners to its node', async () => {
    await create({ kind: 'PodListeners', ...named('moved'), spec: { mounts: {} } });
    const path = `${pathOf.PodListeners}/moved`;
    await cluster.api.patch(path, { spec: { nodeName: 'here' } });
    const refusal = /nodeName cannot change, since a pod never moves to another node: leave it as it is, or delete this object/;
    await assert.rejects(cluster.api.patch(path, { spec: { nodeName: 'there' } }), refusal);
    await assert.rejects(cluster.api.patch(path, { spec: { nodeName: null } }), refusal);
    await cluster.api.patch(path, { spec: { mounts: { handle: {} } } });
  });

  it('let PodListeners be selected by node', async () => {
    await create({ kind: 'PodListeners', ...named('on-one'), spec: { nodeName: 'one' } });
    await create({ kind: 'PodListeners', ...named('on-two'), spec: { nodeName: 'two' } });
    const { items } = await cluster.api.get<{ items: Stored[] }>(`${group}/podlisteners?fieldSelector=spec.nodeName%3Dtwo`);
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['on-two'],
    );
  });

  it('keep status apart from what is asked for', async () => {
    await create({ kind: 'PodListeners', ...named('waiting'), spec: {} });
    const path = `${pathOf.PodListeners}/waiting`;
    const mounts = { handle: { reason: 'NoListener', message: 'Listener default/web does not exist.' } };
    assert.equal((await cluster.api.patch<Stored>(path, { status: { mounts } })).status, undefined);
    assert.deepEqual((await cluster.api.patch<Stored>(`${path}/status`, { status: { mounts } })).status, { mounts });
  });

  it('show in kubectl get what a person asks first', async () => {
    const lastTransitionTime = '2030-01-01T00:00:00Z';
    await create({ kind: 'Listener', ...named('shown'), spec: { className: 'minimal' } });
    await cluster.api.patch(`${pathOf.Listener}/shown/status`, {
      status: {
        ingressAddresses: [{ address: '192.0.2.7', addressType: 'IP', ports: { http: 80 } }],
        conditions: [{ type: 'Ready', status: 'True', reason: 'Reachable', message: 'It has an address.', lastTransitionTime }],
      },
    });
    const { uid } = (await cluster.api.create<Stored>('/api/v1/namespaces/default/pods', neverRun('web-0'))).metadata;
    const ingressAddresses = [{ address: '192.0.2.8', addressType: 'IP', ports: {} }];
    await create({
      kind: 'PodListeners',
      metadata: { name: 'shown', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid }] },
      spec: { nodeName: 'node-1', listeners: { a: { scope: 'Node', ingressAddresses } } },
    });

    const table = async (...args: readonly string[]) => {
      const lines = (await cluster.kubectl(['get', ...args])).trimEnd().split('\n');
      return lines.map((line) =>
        line
          .trim()
          .replaceAll(/ {2,}/g, ' | ')
          .replace(/\d+\w+$/, 'SOME TIME'),
      );
    };
    assert.deepEqual(await table('lsn', 'shown'), [
      'NAME | CLASS | ADDRESS | READY | REASON | AGE',
      'shown | minimal | 192.0.2.7 | True | Reachable | SOME TIME',
    ]);
    assert.match((await table('lsn', 'shown', '-o', 'wide')).join('\n'), / \| It has an address\. \| /);
    assert.deepEqual(await table('lsnc', 'minimal'), [
      'NAME | TYPE | PINNED | ADDRESSES | AGE',
      'minimal | ClusterIP | false | HostnameConservative | SOME TIME',
    ]);
    assert.deepEqual(await table('plsn', 'shown'), ['NAME | POD | NODE | ADDRESS | AGE', 'shown | web-0 | node-1 | 192.0.2.8 | SOME TIME']);
    assert.match(await cluster.kubectl(['get', 'earshot', '--output', 'name']), /^listenerclass\..*^listener\..*^podlisteners\./ms);
    assert.match(await cluster.kubectl(['explain', 'lsn.spec.ports']), /name\s+<string> -required-\s+The name of the port/);
  });

  it('merge conditions by their type', async () => {
    const condition = { status: 'True', reason: 'Fine', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
    await create({ kind: 'Listener', ...named('conditions'), spec: {} });
    for (const type of ['Ready', 'Accepted']) {
      await cluster.api.patch(
        `${pathOf.Listener}/conditions/status?fieldManager=${type}`,
        { apiVersion, kind: 'Listener', status: { conditions: [{ type, ...condition }] } },
        'application/apply-patch+yaml',
      );
    }
    const { status } = await get('Listener', 'conditions');
    assert.deepEqual(status, { conditions: ['Ready', 'Accepted'].map((type) => ({ type, ...condition })) });
  });

  it('of the connection half are plain to the API server, and fill in what is left out', async () => {
    const all = [...skupperDefinitions(), networkObserverDefinition()];
    const connection = namesOf(all);
    await applyOurs(all);
    await eventually('the definitions to be established', () => areEstablished(connection));
    const conditions = (await definitions(connection)).flatMap(({ status }) => status?.conditions ?? []);
    assert.deepEqual(
      conditions.filter(({ type }) => type === 'NonStructuralSchema'),
      [],
    );
    const spec = { routingKey: 'backend', host: 'backend.example.com', port: 8080 };
    const connector = await eventually('Connectors to be served', () =>
      cluster.api.create<Stored>(`${connectionGroup}/connectors`, connectionObject('Connector', spec)),
    );
    assert.deepEqual(connector.spec, { ...spec, useClientCert: false, includeNotReadyPods: false, exposePodsByName: false, type: 'tcp' });
  });

  it('of the connection half refuse what cannot work, and say why', async () => {
    const write = (kind: string, plural: string, spec: object) =>
      cluster.api.create<Stored>(`${connectionGroup}/${plural}`, connectionObject(kind, spec));
    const writeMulti = (strategy: object) => write('MultiKeyListener', 'multikeylisteners', { host: 'any', port: 80, strategy });
    const priority = { routingKeys: ['near', 'far'] };
    const weighted = { routingKeys: { old: 90, new: 10 } };
    const oneKind = /exactly one of `priority` and `weighted`/;
    await eventually('MultiKeyListeners to be served', () => writeMulti({ priority }));
    await assert.rejects(writeMulti({}), oneKind);
    await assert.rejects(writeMulti({ priority, weighted }), oneKind);
    const path = `${connectionGroup}/multikeylisteners/tried`;
    const otherKind = { spec: { strategy: { priority: null, weighted } } };
    await assert.rejects(cluster.api.patch(path, otherKind), /the kind of strategy cannot change/);
    await assert.rejects(write('Connector', 'connectors', { routingKey: 'a', port: 80 }), /exactly one of `host` and `selector`/);
    const tooHigh = { routingKey: 'a', host: 'a', port: 65_536 };
    await eventually('Listeners to be served', () => cluster.api.get(`${connectionGroup}/listeners`));
    await assert.rejects(write('Listener', 'listeners', tooHigh), /spec\.port.*less than or equal to 65535/);
  });

  it('accept every manifest in docs and examples', async () => {
    const manifests = documentedManifests();
    const files = new Set(manifests.map(({ file }) => file));
    assert.ok(files.has('docs/reference/listeners.md'), [...files].join(' '));
    const namespaces = new Set(manifests.flatMap(({ manifest }) => manifest.metadata?.namespace ?? []));
    for (const name of namespaces) await cluster.api.create('/api/v1/namespaces', { metadata: { name } }).catch(onlyIfThere);
    for (const { file, manifest } of manifests) {
      const { kind, metadata } = manifest;
      await assert.doesNotReject(
        cluster.kubectl(['apply', '--server-side', '--dry-run=server', '-f', '-'], { input: JSON.stringify(manifest) }),
        `${file}: ${kind} ${metadata?.name}`,
      );
    }
  });
});

const connectionObject = (kind: string, spec: object) => ({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name: 'tried' }, spec });
const named = (name: string) => ({ metadata: { name } });
const listenerClass = (name: string): Manifest => ({ kind: 'ListenerClass', ...named(name), spec: { serviceType: 'ClusterIP' } });

/** A pod that no node takes: the garbage collector keeps what it owns. */
const neverRun = (name: string) => ({
  ...named(name),
  spec: { schedulerName: 'none', containers: [{ name: 'main', image: 'registry.example.com/none:1' }] },
});

/** As left by a system that has been removed: its objects must be served and written without it. */
function withAbandonedWebhook(definition: ReturnType<typeof earlierDefinitions>[number]) {
  const conversion = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { service: { namespace: 'gone', name: 'gone', path: '/convert' } } },
  };
  return { ...definition, spec: { ...definition.spec, conversion } };
}

function onlyIfThere(error: unknown): undefined {
  if (!(error instanceof HarnessError && error.message.includes(' 409 '))) throw error;
}
