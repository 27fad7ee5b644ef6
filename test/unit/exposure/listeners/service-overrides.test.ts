import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Service } from '../../../../src/kube/objects.ts';
import { applyOverrides } from '../../../../src/exposure/listeners/service-overrides.ts';
import { mergeService } from '../../../../src/exposure/listeners/service-merge.ts';

const base: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'web',
    namespace: 'shop',
    labels: { app: 'web' },
    annotations: {},
    ownerReferences: [{ apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', name: 'web', uid: 'u1', controller: true }],
  },
  spec: { type: 'NodePort', selector: { 'listener.stackable.tech/mnt.u1': 'web' }, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
};

const thisService = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } };

describe('overrides are merged', () => {
  it('in order: what is built, the class, then each of the Listener', () => {
    const { service, problems } = applyOverrides(base, {
      classOverrides: { metadata: { labels: { a: 'class', b: 'class', c: 'class' } } },
      objectOverrides: [
        { ...thisService, metadata: { name: 'web', labels: { b: 'first', c: 'first' } } },
        { ...thisService, metadata: { name: 'web', labels: { c: 'second' } } },
      ],
    });
    assert.deepEqual(service.metadata.labels, { app: 'web', a: 'class', b: 'first', c: 'second' });
    assert.deepEqual(problems, []);
  });

  it('when they are left out, null or empty: not at all', () => {
    for (const nothing of [{}, { classOverrides: {}, objectOverrides: [] }, { classOverrides: null, objectOverrides: null }]) {
      assert.deepEqual(applyOverrides(base, nothing), { service: base, problems: [] });
    }
  });

  it('with the values that serializers write for unset fields', () => {
    const written = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', creationTimestamp: null },
      spec: {},
      status: { loadBalancer: {} },
    };
    assert.deepEqual(applyOverrides(base, { objectOverrides: [written] }), { service: base, problems: [] });
    assert.deepEqual(applyOverrides(base, { classOverrides: { metadata: null, spec: null } }), { service: base, problems: [] });
  });
});

describe('what the Listener stands on is kept, and a problem names it', () => {
  const cases: readonly [override: object, path: string][] = [
    [{ apiVersion: 'v2' }, 'serviceOverrides.apiVersion'],
    [{ kind: 'ConfigMap' }, 'serviceOverrides.kind'],
    [{ metadata: { name: 'other' } }, 'serviceOverrides.metadata.name'],
    [{ metadata: { namespace: 'kube-system' } }, 'serviceOverrides.metadata.namespace'],
    [{ metadata: { ownerReferences: [{ uid: 'x' }] } }, 'serviceOverrides.metadata.ownerReferences'],
    [{ metadata: { finalizers: ['example.com/never'] } }, 'serviceOverrides.metadata.finalizers'],
    [{ metadata: { uid: 'x' } }, 'serviceOverrides.metadata.uid'],
    [{ metadata: { resourceVersion: '1' } }, 'serviceOverrides.metadata.resourceVersion'],
    [{ metadata: { managedFields: [{}, { manager: 'x' }] } }, 'serviceOverrides.metadata.managedFields'],
    [{ status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }, 'serviceOverrides.status'],
    [{ metadata: 'x' }, 'serviceOverrides.metadata'],
    [{ spec: [] }, 'serviceOverrides.spec'],
  ];
  for (const [override, path] of cases) {
    it(path, () => {
      const { service, problems } = applyOverrides(base, { classOverrides: override });
      assert.deepEqual(service, base);
      assert.deepEqual(
        problems.map((problem) => [problem.kind, problem.path]),
        [['ignored', path]],
      );
    });
  }
});

describe('the selector', () => {
  it('is replaced, with a notice that the pods may be others', () => {
    const { service, problems } = applyOverrides(base, { classOverrides: { spec: { selector: { app: 'other' } } } });
    assert.deepEqual(service.spec?.selector, { app: 'other' });
    assert.deepEqual(
      problems.map(({ kind, path }) => [kind, path]),
      [['notice', 'serviceOverrides.spec.selector']],
    );
  });

  it('may be removed, with the same notice', () => {
    const { service, problems } = applyOverrides(base, { classOverrides: { spec: { selector: null } } });
    assert.equal(service.spec?.selector, undefined);
    assert.deepEqual(
      problems.map(({ kind }) => kind),
      ['notice'],
    );
  });

  it('gives no notice when it stays the same', () => {
    assert.deepEqual(applyOverrides(base, { classOverrides: { spec: { selector: base.spec?.selector } } }).problems, []);
  });
});

describe('an entry of objectOverrides that is not for the Service is left out, and a problem says so', () => {
  const cases: readonly [entry: unknown, message: RegExp][] = [
    [{ ...thisService, metadata: { name: 'other' } }, /^names v1 Service other, which does not belong/],
    [{ ...thisService, apiVersion: 'apps/v1', kind: 'StatefulSet' }, /^names apps\/v1 StatefulSet web, /],
    [{ ...thisService, metadata: { name: 'web', namespace: 'elsewhere' } }, /^names v1 Service elsewhere web, /],
    [{ spec: { type: 'ClusterIP' } }, /^names no object, .* metadata\.name web\.$/],
    [{ apiVersion: ['v1'], kind: 'x\ny', metadata: 3 }, /^names an object "x\\ny", /],
    ['Service', /^must be an object/],
    [null, /^must be an object/],
    [[thisService], /^must be an object/],
  ];
  for (const [entry, message] of cases) {
    it(JSON.stringify(entry), () => {
      const { service, problems } = applyOverrides(base, { objectOverrides: [thisService, entry] });
      assert.deepEqual(service, base);
      assert.equal(problems.length, 1);
      assert.equal(problems[0]?.path, 'objectOverrides[1]');
      assert.match(problems[0]?.message ?? '', message);
    });
  }

  it('unless its namespace is given and the same', () => {
    const entry = { ...thisService, metadata: { name: 'web', namespace: 'shop', labels: { a: '1' } } };
    assert.equal(applyOverrides(base, { objectOverrides: [entry] }).service.metadata.labels?.['a'], '1');
  });
});

describe('hostile overrides', () => {
  it('nested very deep are left out whole, without exhausting the stack', () => {
    const depth = 200_000;
    const deep: unknown = JSON.parse(`${'{"status":['.repeat(depth)}1${']}'.repeat(depth)}`);
    const { service, problems } = applyOverrides(base, { classOverrides: deep, objectOverrides: [deep, [deep]] });
    assert.deepEqual(service, base);
    assert.match(problems[0]?.message ?? '', /^is nested more than 32 deep/);
  });

  it('with very many faults are reported briefly', () => {
    const key = '\u0000'.repeat(5000);
    const faults = Array.from({ length: 5000 }, () => ({ [key]: 1 }));
    const { problems } = applyOverrides(base, { classOverrides: { spec: { ports: faults } }, objectOverrides: faults });
    assert.ok(problems.length > 1);
    assert.ok(JSON.stringify(problems).length < 16_384);
  });

  it('beyond 64 are left out and reported, and so are ports beyond 1,024', () => {
    const labelled = Array.from({ length: 65 }, (_, index) => ({
      ...thisService,
      metadata: { name: 'web', labels: { last: `${index}` } },
    }));
    const most = applyOverrides(base, { objectOverrides: labelled });
    assert.equal(most.service.metadata.labels?.['last'], '63');
    assert.deepEqual(most.problems, [{ kind: 'ignored', path: 'objectOverrides[64]', message: 'comes after 64 others; it is ignored.' }]);
    const ports = Array.from({ length: 1_024 }, (_, index) => ({ name: `p-${index}`, port: 1_000 + index }));
    const full = applyOverrides(base, { objectOverrides: [{ ...thisService, spec: { ports } }] });
    assert.equal(full.service.spec?.ports?.length, 1_024);
    assert.deepEqual(full.problems, [
      { kind: 'ignored', path: 'objectOverrides[0].spec.ports[1023]', message: 'comes after 1024 others; it is ignored.' },
    ]);
  });

  it('of no sensible type are reported', () => {
    const { service, problems } = applyOverrides(base, { classOverrides: 'x', objectOverrides: { a: 1 } });
    assert.deepEqual(service, base);
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['serviceOverrides', 'objectOverrides'],
    );
  });
});

describe('for any override at all', () => {
  const port = fc.record(
    {
      port: fc.oneof(fc.constantFrom(53, 80), fc.jsonValue()),
      protocol: fc.constantFrom('TCP', 'UDP', null),
      name: fc.constantFrom('a', 'b', null),
      nodePort: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const key = fc.constantFrom('a', 'b', 'spec', 'ports', 'constructor', 'toString', '__proto__', 'prototype', 'hasOwnProperty');
  const map = fc.dictionary(key, fc.oneof(fc.string(), fc.jsonValue(), fc.constant(null)));
  const part = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 5, arbitrary }, { weight: 1, arbitrary: fc.jsonValue() });
  const override = fc.record(
    {
      apiVersion: part(fc.constant('v1')),
      kind: part(fc.constant('Service')),
      metadata: part(
        fc.record(
          {
            name: part(fc.constant('web')),
            labels: part(map),
            annotations: part(map),
            ownerReferences: part(fc.array(fc.record({ uid: fc.constantFrom('u1', 'u2') }))),
            finalizers: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
      spec: part(
        fc.record(
          { type: fc.jsonValue(), selector: part(map), ports: part(fc.array(part(port))), extra: fc.jsonValue() },
          { requiredKeys: [] },
        ),
      ),
      status: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  // Through text, as it comes from the API server: `__proto__` is then an ordinary own key.
  const asParsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  const runs = { numRuns: 200 };

  it('nothing is thrown, and no prototype gets a property', () => {
    const before = Object.getOwnPropertyNames(Object.prototype).sort();
    fc.assert(
      fc.property(fc.oneof(override, fc.jsonValue()), fc.jsonValue(), (one, other) => {
        applyOverrides(base, { classOverrides: asParsed(one), objectOverrides: asParsed([one, other]) });
        applyOverrides(base, { classOverrides: asParsed(other), objectOverrides: asParsed(one) });
        assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before);
      }),
      runs,
    );
  });

  it('identity and owners stay as built', () => {
    fc.assert(
      fc.property(override, (value) => {
        const { service } = applyOverrides(base, { classOverrides: asParsed(value), objectOverrides: asParsed([value]) });
        const { name, namespace, ownerReferences, finalizers, uid } = service.metadata;
        assert.deepEqual([service.apiVersion, service.kind, name, namespace, 'status' in service], ['v1', 'Service', 'web', 'shop', false]);
        assert.deepEqual([ownerReferences, finalizers, uid], [base.metadata.ownerReferences, undefined, undefined]);
      }),
      runs,
    );
  });

  it('applying it twice equals applying it once', () => {
    fc.assert(
      fc.property(override, (value) => {
        const once = applyOverrides(base, { classOverrides: asParsed(value) }).service;
        assert.deepEqual(applyOverrides(once, { classOverrides: asParsed(value) }).service, once);
        const merged = mergeService(base, asParsed(value) as object);
        assert.deepEqual(mergeService(merged, asParsed(value) as object), merged);
      }),
      runs,
    );
  });

  it('an empty one changes nothing', () => {
    fc.assert(
      fc.property(override, (value) => {
        const parsed = mergeService({}, asParsed(value) as object);
        assert.deepEqual(mergeService(parsed, {}), parsed);
      }),
      runs,
    );
  });
});
