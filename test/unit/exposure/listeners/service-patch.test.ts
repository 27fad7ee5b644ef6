import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Service } from '../../../../src/kube/objects.ts';
import { differs, patchFor, recordIntent } from '../../../../src/exposure/listeners/service-patch.ts';

function intended(
  changes: { labels?: Record<string, string>; annotations?: Record<string, string>; spec?: Service['spec'] } = {},
): Service {
  return recordIntent({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace: 'shop',
      labels: changes.labels ?? { app: 'web' },
      annotations: changes.annotations ?? {},
      ownerReferences: [{ apiVersion: 'x/v1', kind: 'Listener', name: 'web', uid: 'listener-uid', controller: true }],
    },
    spec: changes.spec ?? { type: 'NodePort', ports: [{ name: 'http', port: 80, protocol: 'TCP' }], selector: { mount: 'web' } },
  });
}

/** RFC 7386, as the API server merges. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result = new Map<string, unknown>(
    typeof target === 'object' && target !== null && !Array.isArray(target) ? Object.entries(target) : [],
  );
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function patched(live: Service, to: Service): Service {
  return mergePatch(live, patchFor(to, live)) as Service;
}

/** The API server's version of it: an identity, allocated numbers, defaults, and additions of others. */
function stored(service: Service): Service {
  return {
    ...service,
    metadata: {
      ...service.metadata,
      uid: 'service-uid',
      resourceVersion: '7',
      annotations: { ...service.metadata.annotations, theirs: 'kept' },
    },
    spec: {
      ...service.spec,
      clusterIP: '10.0.0.9',
      ports: (service.spec?.ports ?? []).map((port, index) => ({ ...port, targetPort: port.port, nodePort: 30_000 + index })),
    },
  };
}

test('obsolete fields are removed, those of others stay', () => {
  const live = stored(intended({ annotations: { a: '1', b: '2' }, labels: { app: 'web', old: 'x' } }));
  const after = patched(live, intended({ annotations: { a: '1' } }));
  assert.deepEqual(Object.keys(after.metadata.annotations ?? {}).sort(), ['a', 'listeners.stackable.tech/fields', 'theirs']);
  assert.deepEqual(after.metadata.labels, { app: 'web' });
  assert.equal(after.spec?.clusterIP, '10.0.0.9');
});

for (const [what, before, wanted] of [
  [
    'a port',
    [
      { name: 'http', port: 80 },
      { name: 'admin', port: 81 },
    ],
    [{ name: 'http', port: 80 }],
  ],
  [
    'one protocol of a port',
    [
      { name: 'dns', port: 53 },
      { name: 'dns-udp', port: 53, protocol: 'UDP' },
    ],
    [{ name: 'dns', port: 53 }],
  ],
  ['a target port', [{ name: 'http', port: 80, targetPort: 8080 }], [{ name: 'http', port: 80 }]],
] as const) {
  test(`${what} that is no longer wanted is taken away`, () => {
    const [former, next] = [before, wanted].map((ports) => intended({ spec: { type: 'ClusterIP', ports } }));
    assert.ok(former !== undefined && next !== undefined);
    const live = { ...stored(former), spec: { ...former.spec, clusterIP: '10.0.0.9' } };
    assert.equal(differs(former, live), false);
    assert.equal(differs(next, live), true);
    assert.deepEqual(patched(live, next).spec?.ports, wanted);
  });
}

test('a field of the spec that an override no longer sets is taken away, nested ones alone', () => {
  const spec = { type: 'ClusterIP', selector: { mount: 'web' } };
  const withOverrides = {
    ...spec,
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
    trafficDistribution: 'PreferClose',
  };
  const after = patched(
    stored(intended({ spec: withOverrides })),
    intended({ spec: { ...spec, sessionAffinityConfig: { clientIP: {} } } as Service['spec'] & object }),
  );
  assert.deepEqual(after.spec, { ...spec, clusterIP: '10.0.0.9', ports: [], sessionAffinityConfig: { clientIP: {} } });
});

test('a node port keeps its number when another port comes or goes', () => {
  const live = stored(intended());
  const ports = [
    { name: 'admin', port: 81, protocol: 'TCP' },
    { name: 'http', port: 80, protocol: 'TCP' },
  ];
  const after = patched(live, intended({ spec: { type: 'NodePort', ports, selector: { mount: 'web' } } }));
  assert.deepEqual(
    after.spec?.ports?.map(({ name, nodePort }) => [name, nodePort]),
    [
      ['http', 30_000],
      ['admin', undefined],
    ],
  );
});

test('ports keep their positions in a Service that another client wrote, and new ones follow', () => {
  const ports = [
    { name: 'metrics', port: 9606, protocol: 'TCP' },
    { name: 'https', port: 8443, protocol: 'TCP' },
    { name: 'kafka', port: 9092, protocol: 'TCP' },
  ];
  const live = stored(intended({ spec: { type: 'ClusterIP', ports: ports.filter(({ name }) => name !== 'https').toReversed() } }));
  const { spec } = patched(live, intended({ spec: { type: 'ClusterIP', ports } }));
  assert.deepEqual(
    spec?.ports?.map(({ name }) => name),
    ['kafka', 'metrics', 'https'],
  );
});

test('false is no difference where the API server leaves it out, and one where it says true', () => {
  const wanted = intended({ spec: { type: 'ClusterIP', publishNotReadyAddresses: false } });
  const live = stored(wanted);
  const { publishNotReadyAddresses: _leftOut, ...spec } = live.spec ?? {};
  assert.equal(differs(wanted, { ...live, spec }), false);
  assert.equal(differs(wanted, { ...live, spec: { ...spec, publishNotReadyAddresses: true } }), true);
});

test('a Service that gets another type gives its node ports up', () => {
  const after = patched(
    stored(intended()),
    intended({ spec: { type: 'ClusterIP', ports: [{ name: 'http', port: 80 }], selector: { mount: 'web' } } }),
  );
  assert.deepEqual(after.spec?.ports, [{ name: 'http', port: 80 }]);
});

test('a key that someone added to the selector is taken out, since the selector is one value', () => {
  const live = stored(intended());
  const tampered = { ...live, spec: { ...live.spec, selector: { mount: 'web', extra: 'x' } } };
  assert.equal(differs(intended(), tampered), true);
  assert.deepEqual(patched(tampered, intended()).spec?.selector, { mount: 'web' });
});

test('owners that others added are kept', () => {
  const live = stored(intended());
  const theirs = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'their-uid' };
  const shared = { ...live, metadata: { ...live.metadata, ownerReferences: [theirs, ...(live.metadata.ownerReferences ?? [])] } };
  assert.deepEqual(
    patched(shared, intended({ annotations: { new: 'x' } })).metadata.ownerReferences?.map(({ uid }) => uid),
    ['their-uid', 'listener-uid'],
  );
});

test('the patch names the Service by its uid, so that a successor is not changed', () => {
  const { metadata } = patchFor(intended(), stored(intended())) as { metadata: { uid: string } };
  assert.equal(metadata.uid, 'service-uid');
});

for (const record of [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '{"metadata":{"name":1,"uid":1,"ownerReferences":1}}',
  '{"spec":7}',
  '{"__proto__":{"spec":1}}',
  `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
]) {
  test(`whatever stands in the record of fields, only what may be merged is touched: ${record.slice(0, 40)}`, () => {
    const live = stored(intended());
    const tampered = {
      ...live,
      metadata: { ...live.metadata, annotations: { ...live.metadata.annotations, 'listeners.stackable.tech/fields': record } },
    };
    assert.equal(differs(intended(), tampered), true);
    const after = patched(tampered, intended());
    assert.equal(after.metadata.name, 'web');
    assert.equal(after.spec?.clusterIP, '10.0.0.9');
    assert.equal(differs(intended(), after), false);
  });
}

test('one patch always suffices, and leaves nothing of the earlier intent', () => {
  const map = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), fc.constantFrom('1', '2'), { maxKeys: 4 });
  const spec = fc.record(
    {
      type: fc.constantFrom('NodePort', 'ClusterIP'),
      selector: map,
      ports: fc.uniqueArray(fc.record({ name: fc.constantFrom('x', 'y'), port: fc.integer({ min: 1, max: 3 }) }), {
        selector: ({ port }) => port,
        maxLength: 3,
      }),
      sessionAffinity: fc.constantFrom('None', 'ClientIP'),
    },
    { requiredKeys: ['type', 'selector', 'ports'] },
  );
  const any = fc.record({ labels: map, annotations: map, spec });
  fc.assert(
    fc.property(any, any, (first, second) => {
      const live = stored(intended(first));
      const after = patched(live, intended(second));
      assert.equal(differs(intended(second), after), false);
      for (const key of Object.keys(first.annotations))
        assert.equal(Object.hasOwn(after.metadata.annotations ?? {}, key), Object.hasOwn(second.annotations, key));
      assert.equal(Object.hasOwn(after.spec ?? {}, 'sessionAffinity'), Object.hasOwn(second.spec, 'sessionAffinity'));
      assert.deepEqual(Object.keys(after.spec?.selector ?? {}).sort(), Object.keys(second.spec.selector).sort());
    }),
    { numRuns: 500 },
  );
});
