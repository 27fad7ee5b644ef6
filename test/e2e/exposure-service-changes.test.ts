import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../src/kube/objects.ts';
import { assertContains, liveService } from './support/live-service.ts';
import { API } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

const HTTP = [{ name: 'http', port: 8080 }];

describe('the Service of a Listener, when something changes', { timeout: 400_000, concurrency: 4 }, () => {
  const namespace = useNamespace('changes');

  it('is never touched where it is not its own, which the Ready condition says; once it is gone the Listener gets one', async () => {
    const foreign = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'foreign', labels: { owner: 'somebody' } },
      spec: { ports: [{ port: 80 }], selector: { app: 'theirs' } },
    };
    const theirs = await namespace.create<Service>(foreign);
    await namespace.exposed('foreign', { serviceType: 'ClusterIP' });

    const { message } = await namespace.condition('foreign', 'Ready', 'False', 'ServiceNotOwned');
    assert.match(
      message,
      new RegExp(
        `Service ${namespace.name}/foreign exists and was not created for this Listener.*Rename the Listener, or delete that Service`,
      ),
    );
    await namespace.event({ kind: 'Listener', name: 'foreign' }, /was not created for this Listener/);
    // A change of the Listener makes the controller look again, and leave it alone again.
    await namespace.patch(API, 'Listener', 'foreign', { spec: { ports: [{ name: 'http', port: 8081 }] } });
    const listener = await namespace.untilListener(
      'foreign',
      'to be looked at again',
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
    assert.deepEqual(listener.status?.ingressAddresses, []);
    const untouched = await namespace.service('foreign');
    assert.equal(untouched.metadata.resourceVersion, theirs.metadata.resourceVersion);

    await namespace.remove('v1', 'Service', 'foreign');
    const ready = await namespace.untilListener('foreign', 'to have an address', ({ status }) => status?.ingressAddresses?.length === 1);
    assert.equal(ready.status?.ingressAddresses?.[0]?.ports['http'], 8081);
    assert.notEqual((await namespace.service('foreign')).metadata.uid, theirs.metadata.uid);
  });

  it('is never changed if it belongs to another object, whose name the condition reports', async () => {
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
    await namespace.exposed('adopted', { serviceType: 'ClusterIP' });
    const { message } = await namespace.condition('adopted', 'Ready', 'False', 'ServiceNotOwned');
    assert.match(message, /belongs to ConfigMap parent, so it is not changed/);
    assert.equal((await namespace.service('adopted')).metadata.resourceVersion, theirs.metadata.resourceVersion);
  });

  it('follows its Listener: labels, ports and extra labels that go away there go away here', async () => {
    const className = await namespace.class('follows', { serviceType: 'NodePort' });
    await namespace.listener(
      'follows',
      { className, ports: [...HTTP, { name: 'admin', port: 9090 }], extraPodSelectorLabels: { role: 'leader' } },
      { labels: { a: '1', b: '1' } },
    );
    const former = await liveService(namespace, 'follows');
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

  it('loses what an override no longer sets: fields, and those of single ports', async () => {
    const serviceOverrides = {
      spec: {
        sessionAffinity: 'ClientIP',
        ports: [
          { port: 8080, targetPort: 9090 },
          { port: 9999, name: 'extra' },
        ],
      },
    };
    const className = await namespace.exposed('override-ends', { serviceType: 'ClusterIP', serviceOverrides });
    assert.equal((await liveService(namespace, 'override-ends')).spec.sessionAffinity, 'ClientIP');
    await namespace.patch(API, 'ListenerClass', className, {
      spec: { serviceOverrides: { spec: { ports: [{ port: 8080, targetPort: 9090 }] } } },
    });
    await namespace.untilService('override-ends', 'to have one port', ({ spec }) => spec?.ports?.length === 1);
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: { spec: { ports: null } } } });
    const plain = await namespace.untilService(
      'override-ends',
      'to have its own target port',
      ({ spec }) => spec?.ports?.[0]?.targetPort === 8080,
    );
    assertContains(plain, { spec: { sessionAffinity: 'ClientIP' } });
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: null } });
    await namespace.untilService(
      'override-ends',
      'to have no affinity',
      ({ spec }) => spec !== undefined && 'sessionAffinity' in spec && spec.sessionAffinity === 'None',
    );
  });

  for (const [name, classSpec, change, field] of [
    [
      'balanced',
      { serviceType: 'LoadBalancer', loadBalancerClass: 'example.com/a' },
      { loadBalancerClass: 'example.com/b' },
      'loadBalancerClass',
    ],
    ['headless', { serviceType: 'ClusterIP' }, { serviceOverrides: { spec: { clusterIP: 'None' } } }, 'clusterIP'],
    ['family', { serviceType: 'ClusterIP' }, { serviceOverrides: { spec: { ipFamilies: ['IPv6'] } } }, 'ipFamilies'],
  ] as const) {
    it(`keeps ${field}, which Kubernetes cannot change, with the remedy, and follows its class in all else`, async () => {
      const className = await namespace.exposed(name, classSpec);
      await liveService(namespace, name);
      await namespace.patch(API, 'ListenerClass', className, { spec: { ...change, serviceAnnotations: { added: 'yes' } } });
      await namespace.untilService(name, 'to have the annotation', ({ metadata }) => metadata.annotations?.['added'] === 'yes');
      const { message } = await namespace.condition(name, 'Accepted', 'True', 'AcceptedWithNotes');
      assert.match(message, new RegExp(`cannot change spec\\.${field}.*Delete the Service: it is created again`));
      await namespace.event({ kind: 'Listener', name }, /cannot change spec/);
    });
  }

  it('is named with its finalizer while that keeps it from going, and is created again afterwards', async () => {
    await namespace.exposed('finalized', { serviceType: 'ClusterIP' });
    await liveService(namespace, 'finalized');
    const { metadata } = await namespace.patch<Service>('v1', 'Service', 'finalized', {
      metadata: { finalizers: ['example.com/cleanup'] },
    });
    await namespace.remove('v1', 'Service', 'finalized');
    const { message } = await namespace.condition('finalized', 'Ready', 'False', 'ServiceBeingReplaced');
    assert.match(message, /is being deleted and is created again after that\. It waits for the finalizer example\.com\/cleanup/);
    await namespace.event({ kind: 'Listener', name: 'finalized' }, /the finalizer example\.com\/cleanup/);
    await namespace.patch('v1', 'Service', 'finalized', { metadata: { finalizers: null } });
    await namespace.untilService('finalized', 'to be another one', (service) => service.metadata.uid !== metadata.uid);
    await namespace.ready('finalized');
  });

  it('reverts a field of its own that another client changed', async () => {
    await namespace.exposed('taken-back', { serviceType: 'ClusterIP', serviceAnnotations: { ours: 'yes' } });
    await liveService(namespace, 'taken-back');
    await namespace.patch('v1', 'Service', 'taken-back', {
      metadata: { annotations: { ours: 'no' } },
      spec: { selector: { app: 'theirs' } },
    });
    const service = await namespace.untilService(
      'taken-back',
      'to be as before',
      ({ metadata }) => metadata.annotations?.['ours'] === 'yes',
    );
    assert.equal(service.spec?.selector?.['app'], undefined);
  });

  it('changes its type with the class, to node ports and back', async () => {
    const className = await namespace.exposed('type', { serviceType: 'ClusterIP' });
    await liveService(namespace, 'type');
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceType: 'NodePort' } });
    const wide = await namespace.untilListener('type', 'to have node ports', ({ status }) => status?.nodePorts?.['http'] !== undefined);
    assert.deepEqual(wide.status?.ingressAddresses, [], 'there is no pod, so there is no node');
    await namespace.patch(API, 'ListenerClass', className, { spec: { serviceType: 'ClusterIP' } });
    const narrow = await namespace.untilListener(
      'type',
      'to have a cluster address again',
      ({ status }) => status?.ingressAddresses?.length === 1,
    );
    assert.equal(narrow.status?.nodePorts, undefined);
    assert.equal((await namespace.service('type')).spec?.ports?.[0]?.nodePort, undefined);
  });
});

function pick(from: Readonly<Record<string, string>> | undefined, keys: readonly string[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(keys.map((key) => [key, from?.[key]]));
}
