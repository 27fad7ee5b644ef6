import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ListenerClassSpec, ListenerSpec } from '../../src/api/listeners/index.ts';
import type { Service } from '../../src/kube/objects.ts';
import { connectCluster } from '../harness/index.ts';
import { API } from './support/manifests.ts';
import { openNamespace, type Namespace } from './support/namespace.ts';

const HTTP = [{ name: 'http', port: 8080 }];

/** The fields of a live Service that the manifests of src/ have no need of. */
interface LiveService extends Service {
  readonly spec: NonNullable<Service['spec']> & { readonly sessionAffinity?: string; readonly sessionAffinityConfig?: unknown };
}

interface Row {
  readonly name: string;
  readonly behaviour: string;
  readonly classSpec: ListenerClassSpec;
  readonly spec?: ListenerSpec;
  readonly metadata?: object;
  /** A part of the Service that is to be. */
  readonly expected: object;
}

const rows: readonly Row[] = [
  {
    name: 'annotations',
    behaviour: "carries the class's annotations",
    classSpec: { serviceType: 'ClusterIP', serviceAnnotations: { 'cloud.example/subnet': 'blue', 'cloud.example/internal': 'true' } },
    expected: { metadata: { annotations: { 'cloud.example/subnet': 'blue', 'cloud.example/internal': 'true' } } },
  },
  {
    name: 'labels',
    behaviour: "carries the Listener's labels",
    classSpec: { serviceType: 'ClusterIP' },
    metadata: { labels: { 'app.kubernetes.io/name': 'kafka', tier: 'brokers' } },
    expected: { metadata: { labels: { 'app.kubernetes.io/name': 'kafka', tier: 'brokers' } } },
  },
  {
    name: 'policy-local',
    behaviour: 'keeps traffic on the node where the class says Local',
    classSpec: { serviceType: 'NodePort', serviceExternalTrafficPolicy: 'Local' },
    expected: { spec: { type: 'NodePort', externalTrafficPolicy: 'Local' } },
  },
  {
    name: 'policy-cluster',
    behaviour: 'spreads traffic where the class says Cluster',
    classSpec: { serviceType: 'LoadBalancer', serviceExternalTrafficPolicy: 'Cluster', loadBalancerClass: 'nobody.example/none' },
    expected: { spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' } },
  },
  {
    name: 'policy-ignored',
    behaviour: 'has no external traffic policy where it has no external traffic',
    classSpec: { serviceType: 'ClusterIP', serviceExternalTrafficPolicy: 'Local' },
    expected: { spec: { type: 'ClusterIP', externalTrafficPolicy: undefined } },
  },
  {
    name: 'lb-class',
    behaviour: 'asks for the load balancer class, and for node ports unless told otherwise',
    classSpec: { serviceType: 'LoadBalancer', loadBalancerClass: 'nobody.example/none' },
    expected: { spec: { loadBalancerClass: 'nobody.example/none', allocateLoadBalancerNodePorts: true } },
  },
  {
    name: 'lb-no-ports',
    behaviour: 'has no node ports where the class declines them',
    classSpec: { serviceType: 'LoadBalancer', loadBalancerClass: 'nobody.example/none', loadBalancerAllocateNodePorts: false },
    expected: { spec: { allocateLoadBalancerNodePorts: false, ports: [{ name: 'http', protocol: 'TCP', port: 8080, targetPort: 8080 }] } },
  },
  {
    name: 'not-ready-yes',
    behaviour: 'publishes pods that are not ready unless told otherwise',
    classSpec: { serviceType: 'ClusterIP' },
    expected: { spec: { publishNotReadyAddresses: true } },
  },
  {
    name: 'not-ready-no',
    behaviour: 'publishes only ready pods where the Listener says so',
    classSpec: { serviceType: 'ClusterIP' },
    spec: { publishNotReadyAddresses: false },
    // The API server leaves a false out.
    expected: { spec: { publishNotReadyAddresses: undefined } },
  },
  {
    name: 'override-affinity',
    behaviour: "takes any field from the class's overrides",
    classSpec: {
      serviceType: 'ClusterIP',
      serviceOverrides: { spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } }, metadata: { labels: { team: 'blue' } } },
    },
    expected: { metadata: { labels: { team: 'blue' } }, spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } } },
  },
  {
    name: 'override-ports',
    behaviour: 'merges ports of an override by number, by number and protocol where one is used twice, and adds what is new',
    classSpec: {
      serviceType: 'ClusterIP',
      serviceOverrides: {
        spec: { ports: [{ port: 8080, targetPort: 9090 }, { port: 53, protocol: 'UDP', appProtocol: 'example.com/dns' }, { name: 'extra', port: 9999 }] },
      },
    },
    spec: { ports: [...HTTP, { name: 'dns-tcp', port: 53 }, { name: 'dns', port: 53, protocol: 'UDP' }] },
    expected: {
      spec: {
        ports: [
          { name: 'http', protocol: 'TCP', port: 8080, targetPort: 9090 },
          { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 53 },
          { name: 'dns', protocol: 'UDP', port: 53, targetPort: 53, appProtocol: 'example.com/dns' },
          { name: 'extra', protocol: 'TCP', port: 9999, targetPort: 9999 },
        ],
      },
    },
  },
  {
    name: 'override-order',
    behaviour: "lets the Listener's overrides win over the class's, and a later one over an earlier one",
    classSpec: {
      serviceType: 'ClusterIP',
      serviceAnnotations: { a: 'class', b: 'class', c: 'class', d: 'class' },
      serviceOverrides: { metadata: { annotations: { b: 'class override', c: 'class override', d: 'class override' } } },
    },
    spec: {
      objectOverrides: [
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'override-order', annotations: { c: 'first', d: 'first' } } },
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'override-order', annotations: { d: 'second' } } },
      ],
    },
    expected: { metadata: { annotations: { a: 'class', b: 'class override', c: 'first', d: 'second' } } },
  },
  {
    name: 'override-removes',
    behaviour: 'drops an annotation that an override sets to null',
    classSpec: {
      serviceType: 'ClusterIP',
      serviceAnnotations: { kept: 'yes', dropped: 'yes' },
      serviceOverrides: { metadata: { annotations: { dropped: null } } },
    },
    expected: { metadata: { annotations: { kept: 'yes', dropped: undefined } } },
  },
];

describe('the Service of a Listener', { timeout: 120_000, concurrency: 4 }, () => {
  const cluster = connectCluster();
  let namespace: Namespace;

  before(async () => {
    namespace = await openNamespace(cluster, 'service');
  });
  after(async () => {
    await namespace?.[Symbol.asyncDispose]();
    await cluster.api.close();
  });

  // First, because it waits longest and the others run beside it.
  it('is never touched where it is not its own, which the Ready condition says; once it is gone the Listener gets one', async () => {
    const foreign = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'foreign', labels: { owner: 'somebody' } }, spec: { ports: [{ port: 80 }], selector: { app: 'theirs' } } };
    const theirs = await namespace.create<Service>(foreign);
    const className = await namespace.class('foreign', { serviceType: 'ClusterIP' });
    await namespace.listener('foreign', { className, ports: HTTP });

    const { message } = await namespace.condition('foreign', 'Ready', 'False', 'ServiceNotOwned');
    assert.match(message, new RegExp(`Service ${namespace.name}/foreign exists and was not made for this Listener.*Rename the Listener, or delete that Service`));
    await namespace.event({ kind: 'Listener', name: 'foreign' }, /was not made for this Listener/);
    // A change of the Listener makes the controller look again, and leave it alone again.
    await namespace.patch(API, 'Listener', 'foreign', { spec: { ports: [{ name: 'http', port: 8081 }] } });
    const listener = await namespace.untilListener('foreign', 'to be looked at again', ({ metadata, status }) => status?.observedGeneration === metadata.generation);
    assert.deepEqual(listener.status?.ingressAddresses, []);
    const untouched = await namespace.service('foreign');
    assert.equal(untouched.metadata.resourceVersion, theirs.metadata.resourceVersion);

    await namespace.remove('v1', 'Service', 'foreign');
    const ready = await namespace.untilListener('foreign', 'to have an address', ({ status }) => status?.ingressAddresses?.length === 1, 25_000);
    assert.equal(ready.status?.ingressAddresses?.[0]?.ports['http'], 8081);
    assert.notEqual((await namespace.service('foreign')).metadata.uid, theirs.metadata.uid);
  });

  for (const { name, behaviour, classSpec, spec = {}, metadata, expected } of rows) {
    it(behaviour, async () => {
      const className = await namespace.class(name, classSpec);
      const listener = await namespace.listener(name, { ports: HTTP, ...spec, className }, metadata);
      const service = await live(name);
      assertContains(service, expected);
      assert.deepEqual(service.metadata.ownerReferences, [{
        apiVersion: API, kind: 'Listener', name, uid: listener.metadata.uid, controller: true, blockOwnerDeletion: true,
      }]);
    });
  }

  it('selects the pods that mount the Listener, and of those the ones with its extra labels', async () => {
    const className = await namespace.class('selector', { serviceType: 'ClusterIP' });
    const { metadata } = await namespace.listener('selector', { className, ports: HTTP, extraPodSelectorLabels: { role: 'leader' } });
    const service = await live('selector');
    const mounts = `listener.stackable.tech/mnt.${metadata.uid?.replaceAll('-', '')}`;
    assert.deepEqual(service.spec?.selector, { [mounts]: 'selector', role: 'leader' });
  });

  it('follows its Listener: labels, ports and extra labels that go away there go away here', async () => {
    const className = await namespace.class('follows', { serviceType: 'NodePort' });
    await namespace.listener('follows', { className, ports: [...HTTP, { name: 'admin', port: 9090 }], extraPodSelectorLabels: { role: 'leader' } }, { labels: { a: '1', b: '1' } });
    const former = await live('follows');
    const httpPort = former.spec.ports?.find(({ name }) => name === 'http')?.nodePort;
    await namespace.patch(API, 'Listener', 'follows', {
      metadata: { labels: { b: null, c: '1' } },
      spec: { ports: HTTP, extraPodSelectorLabels: { role: null } },
    });
    const service = await namespace.untilService('follows', 'to have one port', ({ spec }) => spec?.ports?.length === 1);
    assert.deepEqual({ a: '1', b: undefined, c: '1' }, pick(service.metadata.labels, ['a', 'b', 'c']));
    assert.equal(service.spec?.selector?.['role'], undefined);
    assert.equal(service.spec?.ports?.[0]?.nodePort, httpPort, 'the port that stays keeps its node port');
  });

  it('loses an annotation that the class loses, and keeps those of others', async () => {
    const className = await namespace.class('loses', { serviceType: 'ClusterIP', serviceAnnotations: { kept: 'yes', dropped: 'yes' } });
    await namespace.listener('loses', { className, ports: HTTP });
    await live('loses');
    await namespace.patch('v1', 'Service', 'loses', { metadata: { annotations: { 'somebody.example/else': 'theirs' } } });
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceAnnotations: { dropped: null, added: 'yes' } } });
    const { metadata } = await namespace.untilService('loses', 'to have the new annotation', (service) => service.metadata.annotations?.['added'] === 'yes');
    assert.deepEqual(
      pick(metadata.annotations, ['kept', 'dropped', 'somebody.example/else']),
      { kept: 'yes', dropped: undefined, 'somebody.example/else': 'theirs' },
    );
  });

  it('loses what an override no longer sets: fields, and those of single ports', async () => {
    const serviceOverrides = { spec: { sessionAffinity: 'ClientIP', ports: [{ port: 8080, targetPort: 9090 }, { port: 9999, name: 'extra' }] } };
    const className = await namespace.class('override-ends', { serviceType: 'ClusterIP', serviceOverrides });
    await namespace.listener('override-ends', { className, ports: HTTP });
    assert.equal((await live('override-ends')).spec.sessionAffinity, 'ClientIP');
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: { spec: { ports: [{ port: 8080, targetPort: 9090 }] } } } });
    await namespace.untilService('override-ends', 'to have one port', ({ spec }) => spec?.ports?.length === 1);
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: { spec: { ports: null } } } });
    const plain = await namespace.untilService('override-ends', 'to have its own target port', ({ spec }) => spec?.ports?.[0]?.targetPort === 8080);
    assertContains(plain, { spec: { sessionAffinity: 'ClientIP' } });
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: null } });
    await namespace.untilService('override-ends', 'to have no affinity', ({ spec }) => spec !== undefined && 'sessionAffinity' in spec && spec.sessionAffinity === 'None');
  });

  it('takes back a field of its own that somebody changed', async () => {
    const className = await namespace.class('taken-back', { serviceType: 'ClusterIP', serviceAnnotations: { ours: 'yes' } });
    await namespace.listener('taken-back', { className, ports: HTTP });
    await live('taken-back');
    await namespace.patch('v1', 'Service', 'taken-back', { metadata: { annotations: { ours: 'no' } }, spec: { selector: { app: 'theirs' } } });
    const service = await namespace.untilService('taken-back', 'to be as before', ({ metadata }) => metadata.annotations?.['ours'] === 'yes');
    assert.equal(service.spec?.selector?.['app'], undefined);
  });

  it('comes back when somebody deletes it, and the status names its new address', async () => {
    const className = await namespace.class('deleted', { serviceType: 'ClusterIP', preferredAddressType: 'IP' });
    await namespace.listener('deleted', { className, ports: HTTP });
    const { metadata } = await live('deleted');
    await namespace.remove('v1', 'Service', 'deleted');
    const { spec } = await namespace.untilService('deleted', 'to be another one', (service) => service.metadata.uid !== metadata.uid);
    await namespace.untilListener('deleted', 'to name the new address', ({ status }) => status?.ingressAddresses?.[0]?.address === spec?.clusterIP);
  });

  it('changes its type with the class, to node ports and back', async () => {
    const className = await namespace.class('type', { serviceType: 'ClusterIP' });
    await namespace.listener('type', { className, ports: HTTP });
    await live('type');
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceType: 'NodePort' } });
    const wide = await namespace.untilListener('type', 'to have node ports', ({ status }) => status?.nodePorts?.['http'] !== undefined);
    assert.deepEqual(wide.status?.ingressAddresses, [], 'there is no pod, so there is no node');
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceType: 'ClusterIP' } });
    const narrow = await namespace.untilListener('type', 'to have a cluster address again', ({ status }) => status?.ingressAddresses?.length === 1);
    assert.equal(narrow.status?.nodePorts, undefined);
    assert.equal((await namespace.service('type')).spec?.ports?.[0]?.nodePort, undefined);
  });

  it('is exposed as what an override makes of it: without an IP of its own by its name, with node ports by these', async () => {
    const [headless, wide] = [
      await namespace.class('headless', { serviceType: 'ClusterIP', preferredAddressType: 'IP', serviceOverrides: { spec: { clusterIP: 'None' } } }),
      await namespace.class('wide', { serviceType: 'ClusterIP', serviceOverrides: { spec: { type: 'NodePort', ports: [{ port: 8080, name: 'renamed' }] } } }),
    ];
    await namespace.listener('headless', { className: headless, ports: HTTP });
    await namespace.listener('wide', { className: wide, ports: HTTP });
    const { status } = await namespace.ready('headless');
    assert.deepEqual(status?.ingressAddresses, [{ address: `headless.${namespace.name}.svc.cluster.local`, addressType: 'Hostname', ports: { http: 8080 } }]);
    const { spec } = await live('wide');
    const listener = await namespace.untilListener('wide', 'to have node ports', (candidate) => candidate.status?.nodePorts !== undefined);
    assert.deepEqual(listener.status?.nodePorts, { renamed: spec.ports?.[0]?.nodePort });
  });

  it('moves to another class when the Listener names one', async () => {
    const [first, second] = [
      await namespace.class('first', { serviceType: 'ClusterIP', serviceAnnotations: { from: 'first' } }),
      await namespace.class('second', { serviceType: 'ClusterIP', serviceAnnotations: { from: 'second' }, preferredAddressType: 'IP' }),
    ];
    await namespace.listener('moves', { className: first, ports: HTTP });
    const { spec } = await live('moves');
    await namespace.patch(API, 'Listener', 'moves', { spec: { className: second } });
    const { status } = await namespace.untilListener('moves', 'to have an IP', (listener) => listener.status?.ingressAddresses?.[0]?.addressType === 'IP');
    const service = await namespace.service('moves');
    assert.equal(service.metadata.annotations?.['from'], 'second');
    assert.equal(service.spec?.clusterIP, spec.clusterIP, 'the Service is the same one');
    assert.equal(status?.ingressAddresses?.[0]?.address, spec.clusterIP);
  });

  it('is never touched where it belongs to another object, whose name the condition tells', async () => {
    const owner = await namespace.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'parent' } });
    const theirs = await namespace.create<Service>({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'adopted',
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid: owner.metadata.uid ?? '', controller: true }],
      },
      spec: { ports: [{ port: 80 }] },
    });
    const className = await namespace.class('adopted', { serviceType: 'ClusterIP' });
    await namespace.listener('adopted', { className, ports: HTTP });
    const { message } = await namespace.condition('adopted', 'Ready', 'False', 'ServiceNotOwned');
    assert.match(message, /belongs to ConfigMap parent, so it is left alone/);
    assert.equal((await namespace.service('adopted')).metadata.resourceVersion, theirs.metadata.resourceVersion);
  });

  /** The Service of a Listener that has been looked at. */
  async function live(name: string): Promise<LiveService> {
    await namespace.untilListener(name, 'to be looked at', ({ metadata, status }) => status?.observedGeneration === metadata.generation);
    // As the API server answers: LiveService names more of the same fields.
    return await namespace.service(name) as LiveService;
  }
});

function pick(from: Readonly<Record<string, string>> | undefined, keys: readonly string[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(keys.map((key) => [key, from?.[key]]));
}

/** Every field of `part` is in `whole`; `undefined` says that a field must not be there; lists are compared whole. */
function assertContains(whole: unknown, part: unknown, path = 'Service'): void {
  if (part === null || typeof part !== 'object' || Array.isArray(part)) {
    assert.deepEqual(whole, part, path);
    return;
  }
  const fields = new Map(Object.entries(whole ?? {}));
  for (const [key, value] of Object.entries(part)) assertContains(fields.get(key), value, `${path}.${key}`);
}
