import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Listener, ListenerClass } from '../../../../src/api/listeners/index.ts';
import { isOwnedBy, planService } from '../../../../src/exposure/listeners/service-plan.ts';
import { differs } from '../../../../src/exposure/listeners/service-patch.ts';
import type { Service } from '../../../../src/kube/objects.ts';
import { aClass, aListener, LISTENER_UID } from './fixtures.ts';

const mountLabel = `listener.stackable.tech/mnt.${LISTENER_UID.replaceAll('-', '')}`;

function planned(
  listener = aListener(),
  listenerClass: ListenerClass = aClass({ serviceType: 'NodePort' }),
): { service: Service; notices: readonly string[] } {
  const plan = planService(listener, listenerClass);
  assert.ok(plan.refused === undefined, `refused: ${plan.refused?.message}`);
  return plan;
}

function refusal(listener: Listener, listenerClass?: ListenerClass): string {
  const plan = planService(listener, listenerClass);
  assert.ok(plan.refused, 'not refused');
  return plan.refused.reason;
}

test("the Service has the Listener's name, labels and ports, is controlled by it and selects the pods that mount it", () => {
  const listener = aListener({ extraPodSelectorLabels: { role: 'leader' } }, { labels: { app: 'web' } });
  const { service, notices } = planned(listener);
  assert.equal(service.metadata.name, 'web');
  assert.equal(service.metadata.namespace, 'shop');
  assert.equal(service.metadata.labels?.['app'], 'web');
  assert.deepEqual(service.spec?.selector, { role: 'leader', [mountLabel]: 'web' });
  assert.deepEqual(service.spec?.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }]);
  assert.equal(service.spec?.publishNotReadyAddresses, true);
  assert.ok(isOwnedBy(service, listener));
  assert.deepEqual(notices, []);
});

test("the Service is labelled as a Listener's over the labels of its product, and overrides have the last word", () => {
  const listener = aListener(
    {},
    { labels: { 'app.kubernetes.io/name': 'kafka', 'app.kubernetes.io/instance': 'simple', tier: 'brokers' } },
  );
  const serviceOverrides = { metadata: { labels: { 'app.kubernetes.io/instance': 'mine' } } };
  assert.deepEqual(planned(listener, aClass({ serviceType: 'ClusterIP', serviceOverrides })).service.metadata.labels, {
    'app.kubernetes.io/name': 'listener',
    'app.kubernetes.io/instance': 'mine',
    'app.kubernetes.io/managed-by': 'listeners.stackable.tech_listener',
    'listeners.stackable.tech/listener-name': 'web',
    tier: 'brokers',
  });
});

for (const [serviceType, notes] of [
  ['NodePort', 0],
  ['ClusterIP', 1],
  ['LoadBalancer', 1],
] as const) {
  test(`pinnedNodePorts of a ${serviceType} class is ${notes === 0 ? 'no reason for a note' : 'noted as without effect'}`, () => {
    const { notices } = planned(aListener(), aClass({ serviceType, pinnedNodePorts: true }));
    assert.equal(notices.filter((notice) => notice.startsWith('ListenerClass some-class has pinnedNodePorts')).length, notes);
  });
}

for (const [said, publishNotReadyAddresses, expected] of [
  ['left out', undefined, true],
  ['null, as operators write what they do not set,', null, false],
  ['false', false, false],
  ['true', true, true],
] as const) {
  test(`publishNotReadyAddresses ${said} is ${expected}`, () => {
    const { publishNotReadyAddresses: _, ...spec } = aListener().spec;
    const listener = { ...aListener(), spec: publishNotReadyAddresses === undefined ? spec : { ...spec, publishNotReadyAddresses } };
    assert.equal(planned(listener).service.spec?.publishNotReadyAddresses, expected);
  });
}

test('a Listener without an existing class reports which classes exist: a few of many', () => {
  const saidOf = (listener: Listener, classes: readonly string[]): string =>
    planService(listener, undefined, classes).refused?.message ?? '';
  const unnamed = aListener({ className: null });
  assert.match(saidOf(aListener(), ['stable', 'inside']), /^ListenerClass \S+ does not exist\. .* ListenerClasses: stable, inside\.$/);
  assert.match(saidOf(unnamed, ['stable', 'inside']), /^spec\.className is empty: .* ListenerClasses: inside, stable\.$/);
  assert.match(saidOf(unnamed, []), /No ListenerClass exists yet\.$/);
  const many = Array.from({ length: 5_000 }, (_, index) => `class-${index}`);
  const message = saidOf(unnamed, many);
  assert.match(message, /ListenerClasses: class-0, class-1, .* and 4990 more\.$/);
  assert.ok(message.length < 300);
});

for (const serviceType of ['ClusterIP', 'NodePort', 'LoadBalancer'] as const) {
  test(`one number and protocol under two names is refused for a ${serviceType} class, and said which`, () => {
    const ports = [
      { name: 'metrics', port: 9000 },
      { name: 'http', port: 8080, protocol: null },
      { name: 'web', port: 8080, protocol: 'TCP' },
    ];
    const { refused } = planService(aListener({ ports }), aClass({ serviceType }));
    assert.equal(refused?.reason, 'RepeatedPort');
    assert.match(refused.message, /^spec\.ports\[2\] repeats TCP 8080 of spec\.ports\[1\]\. /);
  });
}

test('more ports than a Service may have are refused, and said how many', () => {
  const withPorts = (count: number): ReturnType<typeof planService> =>
    planService(
      aListener({ ports: Array.from({ length: count }, (_, index) => ({ name: `p-${index}`, port: index + 1 })) }),
      aClass({ serviceType: 'ClusterIP' }),
    );
  assert.equal(withPorts(1_024).refused, undefined);
  const { refused } = withPorts(1_025);
  assert.equal(refused?.reason, 'TooManyPorts');
  assert.match(refused.message, /^spec\.ports has 1025 entries, and a Listener may have 1024\. /);
});

test('a mistyped class is shown as it is written, with the one that was probably meant', () => {
  const many = Array.from({ length: 40 }, (_, index) => `aa-${index}`);
  const saidOf = (className: string): string =>
    planService(aListener({ className }), undefined, [...many, 'some-class']).refused?.message ?? '';
  assert.match(
    saidOf(' some-class'),
    /^ListenerClass " some-class" does not exist\. .* Did you mean some-class\? ListenerClasses: some-class, aa-0/,
  );
  assert.match(saidOf('sme-class'), /Did you mean some-class\?/);
  assert.doesNotMatch(saidOf('unlike-any'), /Did you mean/);
});

test('a number under two protocols is not a repetition, nor is a port listed twice', () => {
  const http = { name: 'http', port: 8080 };
  const { service } = planned(aListener({ ports: [http, { name: 'dns', port: 8080, protocol: 'UDP' }, http] }));
  assert.equal(service.spec?.ports?.length, 2);
});

test('a repeated port is reported in few words, for any protocol text', () => {
  const protocol = `${'U'.repeat(5_000)}\u202e`;
  const ports = ['a', 'b'].map((name) => ({ name, port: 53, protocol }));
  const { refused } = planService(aListener({ ports }), aClass({ serviceType: 'ClusterIP' }));
  assert.ok(refused !== undefined && refused.message.length < 200);
});

test('overrides never make two ports of one number and protocol', () => {
  const port = fc.record(
    { name: fc.constantFrom('a', 'b'), port: fc.integer({ min: 1, max: 2 }), protocol: fc.constantFrom('TCP', 'UDP', null) },
    { requiredKeys: ['port'] },
  );
  const list = fc.array(port, { maxLength: 4 });
  fc.assert(
    fc.property(list, list, (ofClass, ofListener) => {
      const override = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports: ofListener } };
      const listener = aListener({
        ports: [
          { name: 'http', port: 1 },
          { name: 'dns', port: 1, protocol: 'UDP' },
        ],
        objectOverrides: [override],
      });
      const { service } = planned(listener, aClass({ serviceType: 'ClusterIP', serviceOverrides: { spec: { ports: ofClass } } }));
      const identities = (service.spec?.ports ?? []).map((each) => `${each.protocol ?? 'TCP'} ${each.port}`);
      assert.equal(new Set(identities).size, identities.length, JSON.stringify(service.spec?.ports));
    }),
  );
});

for (const [serviceType, expected] of [
  ['ClusterIP', {}],
  ['NodePort', { externalTrafficPolicy: 'Local' }],
  ['LoadBalancer', { externalTrafficPolicy: 'Local', allocateLoadBalancerNodePorts: false, loadBalancerClass: 'fast' }],
] as const) {
  test(`a ${serviceType} Service gets the policy that concerns its type, and no other`, () => {
    const { service } = planned(
      aListener(),
      aClass({ serviceType, serviceExternalTrafficPolicy: 'Local', loadBalancerAllocateNodePorts: false, loadBalancerClass: 'fast' }),
    );
    const { externalTrafficPolicy, allocateLoadBalancerNodePorts, loadBalancerClass } = service.spec ?? {};
    const given = Object.fromEntries(
      Object.entries({ externalTrafficPolicy, allocateLoadBalancerNodePorts, loadBalancerClass }).filter(
        ([, value]) => value !== undefined,
      ),
    );
    assert.equal(service.spec?.type, serviceType);
    assert.deepEqual(given, expected);
  });
}

for (const [name, reason, listener, listenerClass] of [
  ['no class', 'NoClass', aListener({ className: '' }), undefined],
  ['a null class', 'NoClass', aListener({ className: null }), undefined],
  ['a class that is not there', 'ClassNotFound', aListener(), undefined],
  ['no ports', 'NoPorts', aListener({ ports: [] }), aClass({ serviceType: 'ClusterIP' })],
  ['null ports', 'NoPorts', aListener({ ports: null }), aClass({ serviceType: 'ClusterIP' })],
  ['a name that is no label value', 'InvalidName', aListener({}, { name: 'x'.repeat(64) }), aClass({ serviceType: 'ClusterIP' })],
  ['a type that is not served', 'UnsupportedServiceType', aListener(), aClass({ serviceType: 'OpenShiftRoute' })],
] as const) {
  test(`a Listener with ${name} is refused: ${reason}`, () => assert.equal(refusal(listener, listenerClass), reason));
}

test('the remedy for a missing class is in the claim if the Listener was created for a volume', () => {
  const owner = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'pvc-1', uid: 'v1' };
  const remedyOf = (listener: Listener): string | undefined => planService(listener, undefined).refused?.message;
  assert.match(remedyOf(aListener()) ?? '', /name another one in spec\.className/);
  assert.match(remedyOf(aListener({}, { ownerReferences: [owner] })) ?? '', /create the claim again with another one in its annotation/);
});

test('the last of two ports with one name keeps it, the first is named after its number, and the notice says so', () => {
  const { service, notices } = planned(
    aListener({
      ports: [
        { name: 'http', port: 80 },
        { name: 'http', port: 81 },
      ],
    }),
  );
  assert.deepEqual(
    service.spec?.ports?.map(({ name, port }) => [name, port]),
    [
      ['port-80', 80],
      ['http', 81],
    ],
  );
  assert.match(notices.join(), /two ports have the name http; TCP 80 is exposed as port-80/);
});

test('a port without a name is called after its number, and the notice says so', () => {
  const { service, notices } = planned(
    aListener({
      ports: [
        { name: '', port: 80 },
        { name: 'port-81', port: 8081 },
        { name: '', port: 81 },
      ],
    }),
  );
  assert.deepEqual(
    service.spec?.ports?.map(({ name, port }) => [name, port]),
    [
      ['port-80', 80],
      ['port-81', 8081],
      ['port-81-2', 81],
    ],
  );
  assert.match(notices.join(' '), /a port has no name; TCP 80 is exposed as port-80\. .*TCP 81 is exposed as port-81-2/);
});

test('the same port written twice is one port', () => {
  const { service, notices } = planned(
    aListener({
      ports: [
        { name: 'http', port: 80 },
        { name: 'http', port: 80, protocol: 'TCP' },
      ],
    }),
  );
  assert.equal(service.spec?.ports?.length, 1);
  assert.deepEqual(notices, []);
});

test('one number on TCP and UDP is two ports', () => {
  const ports = [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  ];
  assert.deepEqual(planned(aListener({ ports })).service.spec?.ports, ports);
});

test('a replan of the same is no difference to what was applied, whatever the API server adds', () => {
  const { service } = planned();
  const live: Service = {
    ...service,
    metadata: { ...service.metadata, uid: 'u', resourceVersion: '5', annotations: { ...service.metadata.annotations, theirs: 'x' } },
    spec: {
      ...service.spec,
      clusterIP: '10.0.0.1',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080, targetPort: 8080, nodePort: 30001 }],
    },
  };
  assert.equal(differs(planned().service, live), false);
});

for (const [name, change] of [
  ['a removed label', (live: Service): Service => ({ ...live, metadata: { ...live.metadata, labels: {} } })],
  ['another type', (live: Service): Service => ({ ...live, spec: { ...live.spec, type: 'ClusterIP' } })],
  [
    'a key added to the selector',
    (live: Service): Service => ({ ...live, spec: { ...live.spec, selector: { ...live.spec?.selector, extra: 'x' } } }),
  ],
  ['a lost port', (live: Service): Service => ({ ...live, spec: { ...live.spec, ports: [] } })],
] as const) {
  test(`${name} is a difference`, () => {
    const { service } = planned(aListener({}, { labels: { app: 'web' } }));
    assert.equal(differs(service, change(service)), true);
  });
}

test('an obsolete field is a difference too, even if all desired ones are there', () => {
  const before = planned(aListener(), aClass({ serviceType: 'ClusterIP', serviceAnnotations: { a: '1', b: '2' } })).service;
  const after = planned(aListener(), aClass({ serviceType: 'ClusterIP', serviceAnnotations: { a: '1' } })).service;
  assert.equal(differs(after, before), true);
});

test('overrides of class and Listener apply in this order, and cannot take the Service from its Listener', () => {
  const listener = aListener({
    objectOverrides: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web', annotations: { who: 'listener' }, ownerReferences: [] },
        spec: { sessionAffinity: 'ClientIP' },
      },
    ],
  });
  const serviceOverrides = { metadata: { annotations: { who: 'class', only: 'class' }, name: 'stolen' } };
  const { service, notices } = planned(listener, aClass({ serviceType: 'ClusterIP', serviceOverrides }));
  assert.equal(service.metadata.name, 'web');
  assert.ok(isOwnedBy(service, listener));
  assert.equal(service.metadata.annotations?.['who'], 'listener');
  assert.equal(service.metadata.annotations?.['only'], 'class');
  assert.match(notices.join('\n'), /serviceOverrides\.metadata\.name identifies the Service/);
});

test("a Service of an earlier Listener of the same name is not this Listener's", () => {
  assert.equal(isOwnedBy(planned().service, aListener({}, { uid: 'successor' })), false);
});

test('whatever a Listener and its class hold, a plan is a refusal or a Service of the Listener with distinct ports', () => {
  const port = fc.record({
    name: fc.constantFrom('', 'a', 'b', 'port-1', '', '../x', '__proto__'),
    port: fc.integer({ min: -1, max: 3 }),
    protocol: fc.constantFrom('TCP', 'UDP', null),
  });
  // Values of JSON: no NaN, no Infinity.
  const values = [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)];
  const overrides = fc.object({
    values,
    key: fc.constantFrom('metadata', 'spec', 'ports', 'selector', 'name', 'labels', '__proto__', 'x'),
    maxDepth: 4,
  });
  fc.assert(
    fc.property(
      fc.array(port, { maxLength: 6 }),
      overrides,
      fc.constantFrom('NodePort', 'LoadBalancer', 'ClusterIP'),
      (ports, serviceOverrides, serviceType) => {
        const listener = aListener({ ports });
        const plan = planService(listener, aClass({ serviceType, serviceOverrides }));
        if (plan.refused !== undefined) return;
        assert.equal(plan.service.metadata.name, 'web');
        assert.ok(isOwnedBy(plan.service, listener));
        assert.equal(differs(plan.service, structuredClone(plan.service)), false);
      },
    ),
    { numRuns: 500 },
  );
});

test('no port is lost and no name is used twice, whatever the ports', () => {
  const port = fc.record({
    name: fc.constantFrom('', 'a', 'b', 'port-1', 'port-2', 'port-1-tcp'),
    port: fc.integer({ min: 1, max: 3 }),
    protocol: fc.constantFrom('TCP', 'UDP'),
  });
  fc.assert(
    fc.property(fc.array(port, { minLength: 1, maxLength: 6 }), (ports) => {
      const plan = planService(aListener({ ports }), aClass({ serviceType: 'ClusterIP' }));
      if (plan.refused !== undefined) {
        const identities = new Map(ports.map((each) => [`${each.port}/${each.protocol}`, each.name]));
        assert.ok(
          ports.some((each) => identities.get(`${each.port}/${each.protocol}`) !== each.name),
          JSON.stringify(ports),
        );
        return;
      }
      const created = plan.service.spec?.ports ?? [];
      const names = created.map(({ name }) => name);
      assert.equal(new Set(names).size, names.length, JSON.stringify(created));
      const wanted = new Set(ports.map(({ port: number, protocol }) => `${number}/${protocol}`));
      assert.deepEqual(new Set(created.map(({ port: number, protocol }) => `${number}/${protocol}`)), wanted);
    }),
  );
});

test('marks of the connection half reach no Service, from wherever they come, and the notice names them', () => {
  const mark = 'internal.skupper.io/listener';
  const override = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', annotations: { [mark]: 'x' } } };
  const marked = aListener({ objectOverrides: [override] }, { labels: { [mark]: 'x', app: 'web' } });
  const spec = {
    serviceType: 'ClusterIP',
    serviceOverrides: { metadata: { labels: { 'internal.skupper.io/controlled': 'true' } } },
  } as const;
  const plan = planService(marked, aClass(spec));
  assert.ok(plan.refused === undefined);
  const { labels = {}, annotations = {} } = plan.service.metadata;
  assert.deepEqual(
    [...Object.keys(labels), ...Object.keys(annotations)].filter((key) => key.startsWith('internal.skupper.io/')),
    [],
  );
  assert.equal(labels['app'], 'web');
  assert.match(plan.notices.join(), /internal\.skupper\.io\/listener.* is omitted from the Service/);
});
