import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import type { ListenerClassSpec } from '../../src/api/listeners/index.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { controllerCount } from './support/earshot.ts';
import { API } from './support/manifests.ts';
import { conditionOf, openNamespace, type Namespace } from './support/namespace.ts';

const PORTS = [{ name: 'http', port: 8080 }];

/** What an override of the class tries to change, and what is said about it. */
const protectedFields: readonly { readonly name: string; readonly override: Readonly<Record<string, unknown>>; readonly note: RegExp }[] = [
  { name: 'name', override: { metadata: { name: 'another' } }, note: /serviceOverrides\.metadata\.name is what the Service is found by; it is left out/ },
  { name: 'namespace', override: { metadata: { namespace: 'kube-system' } }, note: /serviceOverrides\.metadata\.namespace is what the Service is found by/ },
  { name: 'owner', override: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] } }, note: /ownerReferences ties the Service to its Listener; it is left out/ },
  { name: 'no-owner', override: { metadata: { ownerReferences: null } }, note: /^The ListenerClass and the Listener fit together\.$/ },
  { name: 'finalizer', override: { metadata: { finalizers: ['example.com/keep'] } }, note: /finalizers belongs to the program that will remove it/ },
  { name: 'status', override: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }, note: /serviceOverrides\.status is written by whoever provides the addresses/ },
  { name: 'shape', override: { spec: 'NodePort', metadata: { labels: ['a'] } }, note: /metadata\.labels must be an object, not a list; it is left out.*serviceOverrides\.spec must be an object, not a single value; it is left out/ },
  { name: 'kind', override: { kind: 'Deployment' }, note: /serviceOverrides\.kind is what the Service is found by/ },
];

/** Listeners that cannot be exposed as they are written. */
const refused: readonly { readonly name: string; readonly spec: object; readonly classSpec?: ListenerClassSpec; readonly reason: string; readonly message: RegExp }[] = [
  { name: 'no-class', spec: { ports: PORTS }, reason: 'NoClass', message: /spec\.className is empty: name a ListenerClass/ },
  { name: 'null-class', spec: { className: null, ports: PORTS }, reason: 'NoClass', message: /spec\.className is empty/ },
  { name: 'empty-class', spec: { className: '', ports: PORTS }, reason: 'NoClass', message: /spec\.className is empty/ },
  { name: 'hostile-class', spec: { className: '../../../api/v1/secrets', ports: PORTS }, reason: 'ClassNotFound', message: /ListenerClass \.\.\/\.\.\/\.\.\/api\/v1\/secrets does not exist/ },
  { name: 'unsupported', spec: { ports: PORTS }, classSpec: { serviceType: 'OpenShiftRoute' }, reason: 'UnsupportedServiceType', message: /serviceType OpenShiftRoute, which this version does not serve; use NodePort, LoadBalancer or ClusterIP/ },
  { name: 'dotted.name', spec: { ports: PORTS }, classSpec: { serviceType: 'ClusterIP' }, reason: 'ServiceRejected', message: /metadata\.name: Invalid value: "dotted\.name"/ },
  { name: `long-${'n'.repeat(59)}`, spec: { ports: PORTS }, classSpec: { serviceType: 'ClusterIP' }, reason: 'InvalidName', message: /allows them 63 characters; this one has 64\. Use a shorter name/ },
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

interface Quota extends KubeObject {
  readonly status?: { readonly used?: object };
}

describe('bad input', { timeout: 120_000, concurrency: 4 }, () => {
  const cluster = connectCluster();
  let namespace: Namespace;

  before(async () => {
    namespace = await openNamespace(cluster, 'refusals');
  });
  after(async () => {
    await namespace?.[Symbol.asyncDispose]();
    await cluster.api.close();
  });

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

  for (const { name, override, note } of protectedFields) {
    it(`an override of what the Listener stands on (${name}) is left out, and the Accepted condition says so`, async () => {
      const className = await namespace.class(`protected-${name}`, { serviceType: 'ClusterIP', serviceOverrides: override });
      const { metadata } = await namespace.listener(`protected-${name}`, { className, ports: PORTS });
      const ready = await namespace.ready(`protected-${name}`);
      assert.match(conditionOf(ready, 'Accepted')?.message ?? '', note);
      const service = await namespace.service(`protected-${name}`);
      assert.deepEqual(service.metadata.ownerReferences?.map(({ uid }) => uid), [metadata.uid]);
      assert.equal(service.metadata.finalizers, undefined);
      assert.equal(service.status?.loadBalancer?.ingress, undefined);
    });
  }

  it('an override that replaces the selector is done, and the Accepted condition says what that means', async () => {
    const className = await namespace.class('other-pods', { serviceType: 'ClusterIP', serviceOverrides: { spec: { selector: { app: 'theirs' } } } });
    await namespace.listener('other-pods', { className, ports: PORTS });
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
    assert.match(message, /objectOverrides\[0\] names apps\/v1 Deployment web, which is not built for this Listener; it is left out/);
  });

  it('a Service that was good stays when its Listener becomes bad, and the Listener says so', async () => {
    const className = await namespace.class('turns-bad', { serviceType: 'ClusterIP' });
    await namespace.listener('turns-bad', { className, ports: PORTS });
    const good = await namespace.ready('turns-bad');
    const service = await namespace.service('turns-bad');
    await namespace.patch(API, 'Listener', 'turns-bad', { spec: { ports: [{ name: 'HTTP', port: 80 }] } });
    await namespace.condition('turns-bad', 'Accepted', 'False', 'ServiceRejected');
    const { message } = await namespace.condition('turns-bad', 'Ready', 'False', 'NotAccepted');
    assert.match(message, /The addresses are those of the Service as it was before/);
    const bad = await namespace.untilListener('turns-bad', 'to be looked at', ({ metadata, status }) => status?.observedGeneration === metadata.generation);
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
    const className = await namespace.class('in-use', spec);
    await namespace.listener('in-use', { className, ports: PORTS });
    const good = await namespace.ready('in-use');
    await namespace.remove(API, 'ListenerClass', className);
    await namespace.condition('in-use', 'Accepted', 'False', 'ClassNotFound');
    const orphan = await namespace.untilListener('in-use', 'not to be ready', (listener) => conditionOf(listener, 'Ready')?.reason === 'NotAccepted');
    assert.deepEqual(orphan.status?.ingressAddresses, good.status?.ingressAddresses);
    const service = await namespace.service('in-use');
    await namespace.class('in-use', spec);
    const again = await namespace.ready('in-use');
    assert.deepEqual(again.status?.ingressAddresses, good.status?.ingressAddresses);
    assert.equal((await namespace.service('in-use')).metadata.resourceVersion, service.metadata.resourceVersion);
  });

  it('a Service that the API server will not have for now (a quota) is tried again by itself', async () => {
    await using tight = await openNamespace(cluster, 'quota');
    await tight.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec: { hard: { services: '0' } } });
    await tight.until<Quota>({ apiVersion: 'v1', kind: 'ResourceQuota', name: 'none' }, 'to be in force', ({ status }) => status?.used !== undefined);
    const className = await tight.class('quota', { serviceType: 'ClusterIP' });
    await tight.listener('limited', { className, ports: PORTS });
    assert.match((await tight.condition('limited', 'Accepted', 'False', 'ServiceRejected')).message, /The API server refuses the Service: .*exceeded quota: none/);
    await tight.remove('v1', 'ResourceQuota', 'none');
    await tight.ready('limited');
  });

  it('a Service that the API server refuses is tried again more and more rarely', async () => {
    await using alone = await openNamespace(cluster, 'loop');
    const counted = { queue: 'listeners', outcome: 'error' };
    const className = await alone.class('loop', { serviceType: 'ClusterIP', serviceOverrides: { spec: { sessionAffinity: 'Perhaps' } } });
    const counts = await controllerCount(cluster, 'earshot_reconciles_total', counted);
    await alone.listener('loop', { className, ports: PORTS });
    const times = await untilAttempts(alone, 6);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    const [first = 0] = gaps;
    // 100 ms doubled each time, with jitter: the fifth is about 1.6 s.
    assert.ok((gaps[4] ?? 0) > first && (gaps[4] ?? 0) > 500, `the gaps between attempts are ${gaps.join(', ')} ms`);
    assert.ok((await controllerCount(cluster, 'earshot_reconciles_total', counted)) - counts >= 6, 'the metric counts them');
  });

  it('a Listener that is corrected is ready at once, however long it was bad', async () => {
    await using alone = await openNamespace(cluster, 'corrected');
    const className = await alone.class('corrected', { serviceType: 'ClusterIP', serviceOverrides: { spec: { sessionAffinity: 'Perhaps' } } });
    await alone.listener('corrected', { className, ports: PORTS });
    // The next one is more than five seconds away.
    await untilAttempts(alone, 8);
    await alone.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: { spec: { sessionAffinity: 'ClientIP' } } } });
    await alone.untilListener('corrected', 'to be ready', (listener) => conditionOf(listener, 'Ready')?.status === 'True', 4_000);
  });

  /** When Services of a namespace were written, in milliseconds, by the API server's audit log. */
  function untilAttempts(alone: Namespace, least: number): Promise<readonly number[]> {
    return eventually(`${least} attempts to write a Service`, async () => {
      const times: number[] = [];
      for await (const line of createInterface({ input: createReadStream(cluster.auditLog) })) {
        if (!line.includes(`/namespaces/${alone.name}/services`) || !line.includes('"stage":"ResponseComplete"') || !/"verb":"(create|patch)"/.test(line)) continue;
        // The audit log's own field (audit.k8s.io/v1 Event).
        const { requestReceivedTimestamp } = JSON.parse(line) as { readonly requestReceivedTimestamp: string };
        times.push(Date.parse(requestReceivedTimestamp));
      }
      return times.length >= least ? times : undefined;
    });
  }
});
