import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { API } from './support/manifests.ts';
import { conditionOf, useNamespace } from './support/namespace.ts';

const PORTS = [{ name: 'http', port: 8080 }];

/** What an override of the class tries to change, and what is said about it. */
const protectedFields: readonly { readonly name: string; readonly override: Readonly<Record<string, unknown>>; readonly note: RegExp }[] = [
  {
    name: 'name',
    override: { metadata: { name: 'another' } },
    note: /serviceOverrides\.metadata\.name identifies the Service; it is ignored/,
  },
  {
    name: 'namespace',
    override: { metadata: { namespace: 'kube-system' } },
    note: /serviceOverrides\.metadata\.namespace identifies the Service/,
  },
  {
    name: 'owner',
    override: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] } },
    note: /ownerReferences ties the Service to its Listener; it is ignored/,
  },
  { name: 'no-owner', override: { metadata: { ownerReferences: null } }, note: /^The ListenerClass and the Listener fit together\.$/ },
  {
    name: 'finalizer',
    override: { metadata: { finalizers: ['example.com/keep'] } },
    note: /finalizers belongs to the program that will remove it/,
  },
  {
    name: 'status',
    override: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
    note: /serviceOverrides\.status is written by the provider of the addresses/,
  },
  {
    name: 'shape',
    override: { spec: 'NodePort', metadata: { labels: ['a'] } },
    note: /metadata\.labels must be an object, not a list; .*serviceOverrides\.spec must be an object, not a single value; it is ignored/,
  },
  { name: 'kind', override: { kind: 'Deployment' }, note: /serviceOverrides\.kind identifies the Service/ },
];

describe('overrides that go too far', { timeout: 400_000, concurrency: 4 }, () => {
  const namespace = useNamespace('overrides');

  for (const { name, override, note } of protectedFields) {
    it(`an override of what the Listener stands on (${name}) is left out, and the Accepted condition says so`, async () => {
      const className = await namespace.class(`protected-${name}`, { serviceType: 'ClusterIP', serviceOverrides: override });
      const { metadata } = await namespace.listener(`protected-${name}`, { className, ports: PORTS });
      const ready = await namespace.ready(`protected-${name}`);
      assert.match(conditionOf(ready, 'Accepted')?.message ?? '', note);
      const service = await namespace.service(`protected-${name}`);
      assert.deepEqual(
        service.metadata.ownerReferences?.map(({ uid }) => uid),
        [metadata.uid],
      );
      assert.equal(service.metadata.finalizers, undefined);
      assert.equal(service.status?.loadBalancer?.ingress, undefined);
    });
  }

  it('an override that replaces the selector is done, and the Accepted condition says what that means', async () => {
    await namespace.exposed('other-pods', { serviceType: 'ClusterIP', serviceOverrides: { spec: { selector: { app: 'theirs' } } } });
    const { message } = await namespace.condition('other-pods', 'Accepted', 'True', 'AcceptedWithNotes');
    assert.match(message, /serviceOverrides\.spec\.selector replaces the whole selector.*use spec\.extraPodSelectorLabels/);
    assert.deepEqual((await namespace.service('other-pods')).spec?.selector, { app: 'theirs' });
  });

  it('an override of an object that is not built is left out, and the Accepted condition names it', async () => {
    const className = await namespace.class('stranger', { serviceType: 'ClusterIP' });
    await namespace.listener('stranger', {
      className,
      ports: PORTS,
      objectOverrides: [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 3 } }],
    });
    const { message } = await namespace.condition('stranger', 'Accepted', 'True', 'AcceptedWithNotes');
    assert.match(message, /objectOverrides\[0\] names apps\/v1 Deployment web, which does not belong to this Listener; it is ignored/);
  });

  it('a class that is changed to WithinClass takes back what overrides of its Listeners did, and the Accepted condition says what', async () => {
    const className = await namespace.class('shared', { serviceType: 'ClusterIP' });
    const overrides = {
      metadata: { name: 'shared', annotations: { 'lb.example/public': 'true' } },
      spec: { type: 'NodePort', externalIPs: ['192.0.2.1'], sessionAffinity: 'ClientIP' },
    };
    await namespace.listener('shared', { className, ports: PORTS, objectOverrides: [{ apiVersion: 'v1', kind: 'Service', ...overrides }] });
    await namespace.untilService('shared', 'to be as the overrides say', ({ spec }) => spec?.type === 'NodePort');

    await namespace.patch(API, 'ListenerClass', className, { spec: { objectOverridesPolicy: 'WithinClass' } });
    const { metadata, spec } = await namespace.untilService('shared', "to be the class's", (service) => service.spec?.type === 'ClusterIP');
    assert.equal(metadata.annotations?.['lb.example/public'], undefined);
    assert.partialDeepStrictEqual(spec, { sessionAffinity: 'ClientIP' });
    assert.equal(Object.hasOwn(spec ?? {}, 'externalIPs'), false);
    assert.equal(spec?.ports?.[0]?.nodePort, undefined);
    const { message } = await namespace.condition('shared', 'Accepted', 'True', 'AcceptedWithNotes');
    for (const field of ['metadata.annotations["lb.example/public"]', 'spec.type', 'spec.externalIPs']) {
      assert.ok(message.includes(`objectOverrides[0].${field} is decided by the ListenerClass`), message);
    }
  });
});
