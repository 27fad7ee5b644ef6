import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListenerClassSpec } from '../../src/api/listeners/index.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { API } from './support/manifests.ts';
import { conditionOf, openNamespace, useNamespace } from './support/namespace.ts';

interface Quota extends KubeObject {
  readonly status?: { readonly used?: object };
}

const PORTS = [{ name: 'http', port: 8080 }];

/** Listeners that cannot be exposed as they are written. */
const refused: readonly {
  readonly name: string;
  readonly spec: object;
  readonly classSpec?: ListenerClassSpec;
  readonly reason: string;
  readonly message: RegExp;
}[] = [
  { name: 'no-class', spec: { ports: PORTS }, reason: 'NoClass', message: /spec\.className is empty: name a ListenerClass/ },
  { name: 'null-class', spec: { className: null, ports: PORTS }, reason: 'NoClass', message: /spec\.className is empty/ },
  { name: 'empty-class', spec: { className: '', ports: PORTS }, reason: 'NoClass', message: /spec\.className is empty/ },
  {
    name: 'hostile-class',
    spec: { className: '../../../api/v1/secrets', ports: PORTS },
    reason: 'ClassNotFound',
    message: /ListenerClass \.\.\/\.\.\/\.\.\/api\/v1\/secrets does not exist/,
  },
  {
    name: 'unsupported',
    spec: { ports: PORTS },
    classSpec: { serviceType: 'OpenShiftRoute' },
    reason: 'UnsupportedServiceType',
    message: /serviceType OpenShiftRoute, which this version does not support; use NodePort, LoadBalancer or ClusterIP/,
  },
  {
    name: 'dotted.name',
    spec: { ports: PORTS },
    classSpec: { serviceType: 'ClusterIP' },
    reason: 'ServiceRejected',
    message: /metadata\.name: Invalid value: "dotted\.name"/,
  },
  {
    name: `long-${'n'.repeat(59)}`,
    spec: { ports: PORTS },
    classSpec: { serviceType: 'ClusterIP' },
    reason: 'InvalidName',
    message: /allows them 63 characters; this one has 64\. Use a shorter name/,
  },
  {
    name: 'bad-override',
    spec: { ports: PORTS },
    classSpec: { serviceType: 'ClusterIP', serviceOverrides: { spec: { sessionAffinity: 'Perhaps' } } },
    reason: 'ServiceRejected',
    message: /The API server refuses the Service: .*spec\.sessionAffinity: Unsupported value: "Perhaps"/,
  },
  {
    name: 'unknown-field',
    spec: { ports: PORTS },
    classSpec: { serviceType: 'ClusterIP', serviceOverrides: { spec: { portz: [] } } },
    reason: 'ServiceRejected',
    message: /The API server refuses the Service: .*unknown field "spec\.portz"/,
  },
  {
    name: 'wrong-type',
    spec: { ports: PORTS },
    classSpec: { serviceType: 'ClusterIP', serviceOverrides: { spec: { publishNotReadyAddresses: 'perhaps' } } },
    reason: 'ServiceRejected',
    message: /The API server refuses the Service: .*publishNotReadyAddresses of type bool/,
  },
  {
    name: 'bad-label',
    spec: { ports: PORTS, extraPodSelectorLabels: { 'not a label': 'x' } },
    classSpec: { serviceType: 'ClusterIP' },
    reason: 'ServiceRejected',
    message: /spec\.selector: Invalid value: "not a label"/,
  },
  {
    name: 'bad-annotation',
    spec: { ports: PORTS },
    classSpec: { serviceType: 'ClusterIP', serviceAnnotations: { 'not an annotation': 'x' } },
    reason: 'ServiceRejected',
    message: /metadata\.annotations: Invalid value: "not an annotation"/,
  },
];

describe('bad input', { timeout: 400_000, concurrency: 4 }, () => {
  const namespace = useNamespace('refusals');

  for (const { name, spec, classSpec, reason, message } of refused) {
    it(`${name.slice(0, 20)}: the Listener has no Service, condition and event say why`, async () => {
      const className = classSpec === undefined ? {} : { className: await namespace.class(name, classSpec) };
      await namespace.listener(name, { ...className, ...spec });
      assert.match((await namespace.condition(name, 'Accepted', 'False', reason)).message, message);
      const ready = await namespace.condition(name, 'Ready', 'False', 'NotAccepted');
      assert.match(ready.message, message);
      assert.equal(await namespace.get('v1', 'Service', name), undefined);
      await namespace.event({ kind: 'Listener', name }, message);
    });
  }

  it('a Service that was good stays when its Listener becomes bad, and the Listener says so', async () => {
    await namespace.exposed('turns-bad', { serviceType: 'ClusterIP' });
    const good = await namespace.ready('turns-bad');
    const service = await namespace.service('turns-bad');
    await namespace.patch(API, 'Listener', 'turns-bad', { spec: { ports: [{ name: 'HTTP', port: 80 }] } });
    await namespace.condition('turns-bad', 'Accepted', 'False', 'ServiceRejected');
    const { message } = await namespace.condition('turns-bad', 'Ready', 'False', 'NotAccepted');
    assert.match(message, /The Service is not updated, and still has/);
    const bad = await namespace.untilListener(
      'turns-bad',
      'to be looked at',
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
    assert.deepEqual(bad.status?.ingressAddresses, good.status?.ingressAddresses);
    assert.equal((await namespace.service('turns-bad')).metadata.resourceVersion, service.metadata.resourceVersion);
    await namespace.patch(API, 'Listener', 'turns-bad', { spec: { ports: PORTS } });
    await namespace.ready('turns-bad');
  });

  const badOverrides: readonly { readonly name: string; readonly spec: object; readonly message: RegExp }[] = [
    { name: 'value', spec: { sessionAffinity: 'Perhaps' }, message: /spec\.sessionAffinity: Unsupported value: "Perhaps"/ },
    { name: 'field', spec: { portz: [] }, message: /unknown field "spec\.portz"/ },
    { name: 'type', spec: { publishNotReadyAddresses: 'perhaps' }, message: /publishNotReadyAddresses/ },
  ];

  for (const { name, spec, message } of badOverrides) {
    it(`a Service that exists stays as it is when its class becomes bad (${name}), and the Listener says so`, async () => {
      const className = await namespace.class(`bad-${name}`, { serviceType: 'ClusterIP' });
      await namespace.listener(`bad-${name}`, { className, ports: PORTS });
      await namespace.ready(`bad-${name}`);
      const { metadata } = await namespace.service(`bad-${name}`);
      await namespace.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: { spec } } });
      assert.match((await namespace.condition(`bad-${name}`, 'Accepted', 'False', 'ServiceRejected')).message, message);
      assert.equal((await namespace.service(`bad-${name}`)).metadata.resourceVersion, metadata.resourceVersion);
    });
  }

  it('a class that is deleted while it is in use takes nothing away: the Listener says so, and is ready again with the class', async () => {
    const spec = { serviceType: 'ClusterIP', preferredAddressType: 'IP' } as const;
    const className = await namespace.exposed('in-use', spec);
    const good = await namespace.ready('in-use');
    await namespace.remove(API, 'ListenerClass', className);
    await namespace.condition('in-use', 'Accepted', 'False', 'ClassNotFound');
    const orphan = await namespace.untilListener(
      'in-use',
      'not to be ready',
      (listener) => conditionOf(listener, 'Ready')?.reason === 'NotAccepted',
    );
    assert.deepEqual(orphan.status?.ingressAddresses, good.status?.ingressAddresses);
    const service = await namespace.service('in-use');
    await namespace.class('in-use', spec);
    const again = await namespace.ready('in-use');
    assert.deepEqual(again.status?.ingressAddresses, good.status?.ingressAddresses);
    assert.equal((await namespace.service('in-use')).metadata.resourceVersion, service.metadata.resourceVersion);
  });

  it('a Service that the API server will not have for now (a quota) is tried again by itself', async () => {
    await using tight = await openNamespace(namespace.cluster, 'quota');
    await tight.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec: { hard: { services: '0' } } });
    await tight.until<Quota>(
      { apiVersion: 'v1', kind: 'ResourceQuota', name: 'none' },
      'to be in force',
      ({ status }) => status?.used !== undefined,
    );
    const className = await tight.class('quota', { serviceType: 'ClusterIP' });
    await tight.listener('limited', { className, ports: PORTS });
    assert.match(
      (await tight.condition('limited', 'Accepted', 'False', 'ServiceRejected')).message,
      /The API server refuses the Service: .*exceeded quota: none/,
    );
    await tight.remove('v1', 'ResourceQuota', 'none');
    await tight.ready('limited');
  });
});
