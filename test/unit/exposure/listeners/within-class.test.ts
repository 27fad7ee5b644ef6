import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Listener, ListenerClass } from '../../../../src/api/listeners/index.ts';
import type { Service } from '../../../../src/kube/objects.ts';
import { applyOverrides } from '../../../../src/exposure/listeners/service-overrides.ts';
import { planService } from '../../../../src/exposure/listeners/service-plan.ts';

const base: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' }, annotations: {} },
  spec: {
    type: 'LoadBalancer',
    selector: { 'listener.stackable.tech/mnt.u1': 'web' },
    ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30_080 }],
    allocateLoadBalancerNodePorts: true,
    publishNotReadyAddresses: true,
  },
};
const thisService = { apiVersion: 'v1', kind: 'Service' };

function confined(override: { readonly metadata?: object; readonly spec?: object | undefined }, classOverrides: object = {}) {
  const objectOverrides = [{ ...thisService, ...override, metadata: { name: 'web', ...override.metadata } }];
  return applyOverrides(base, { classOverrides, objectOverrides, objectOverridesPolicy: 'WithinClass' });
}

describe('within its class, an override of a Listener', () => {
  const refused: readonly (readonly [override: object, path: string])[] = [
    [{ spec: { type: 'NodePort' } }, 'spec.type'],
    [{ spec: { type: null } }, 'spec.type'],
    [{ spec: { externalIPs: ['192.0.2.1'] } }, 'spec.externalIPs'],
    [{ spec: { externalName: 'bank.example' } }, 'spec.externalName'],
    [{ spec: { loadBalancerClass: 'public' } }, 'spec.loadBalancerClass'],
    [{ spec: { loadBalancerIP: '192.0.2.1' } }, 'spec.loadBalancerIP'],
    [{ spec: { loadBalancerSourceRanges: ['0.0.0.0/0'] } }, 'spec.loadBalancerSourceRanges'],
    [{ spec: { allocateLoadBalancerNodePorts: false } }, 'spec.allocateLoadBalancerNodePorts'],
    [{ spec: { externalTrafficPolicy: 'Local' } }, 'spec.externalTrafficPolicy'],
    [{ spec: { healthCheckNodePort: 30_000 } }, 'spec.healthCheckNodePort'],
    [{ spec: { selector: { app: 'bank' } } }, 'spec.selector'],
    [{ spec: { selector: null } }, 'spec.selector'],
    [{ spec: { clusterIP: 'None' } }, 'spec.clusterIP'],
    [{ spec: { ipFamilyPolicy: 'PreferDualStack' } }, 'spec.ipFamilyPolicy'],
    [{ spec: { aFieldOfALaterKubernetes: true } }, 'spec.aFieldOfALaterKubernetes'],
    [{ spec: { ports: [{ port: 80, nodePort: 31_000 }] } }, 'spec.ports[0].nodePort'],
    [{ spec: { ports: [{ port: 80, nodePort: null }] } }, 'spec.ports[0].nodePort'],
    [{ metadata: { annotations: { 'lb.example/internal': 'false' } } }, 'metadata.annotations["lb.example/internal"]'],
    [{ metadata: { labels: { pool: 'public' } } }, 'metadata.labels.pool'],
    [{ metadata: { labels: { app: null } } }, 'metadata.labels.app'],
    [{ metadata: { labels: null } }, 'metadata.labels'],
    [{ data: {}, metadata: { odd: true } }, 'metadata.odd'],
  ];
  for (const [override, path] of refused) {
    it(`cannot change ${path}: ${JSON.stringify(override)}`, () => {
      const { service, problems } = confined(override);
      assert.deepEqual(service, base);
      assert.deepEqual(
        problems.map(({ kind, path: at }) => [kind, at]),
        [['ignored', `objectOverrides[0].${path}`]],
      );
      assert.match(problems[0]?.message ?? '', /decided by the ListenerClass \(its objectOverridesPolicy is WithinClass\)/);
    });
  }

  it('can change how connections reach the pods from the Service on', () => {
    const { service, problems } = confined({
      spec: {
        ports: [
          { port: 80, name: 'web', appProtocol: 'http', targetPort: 8080 },
          { port: 81, name: 'more' },
        ],
        publishNotReadyAddresses: false,
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        internalTrafficPolicy: 'Local',
        trafficDistribution: 'PreferClose',
      },
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(service.spec, {
      ...base.spec,
      ports: [
        { name: 'web', port: 80, protocol: 'TCP', nodePort: 30_080, appProtocol: 'http', targetPort: 8080 },
        { port: 81, name: 'more' },
      ],
      publishNotReadyAddresses: false,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      internalTrafficPolicy: 'Local',
      trafficDistribution: 'PreferClose',
    });
  });

  it('cannot change what the class sets, though it is free elsewhere', () => {
    const { service, problems } = confined({ spec: { sessionAffinity: 'None' } }, { spec: { sessionAffinity: 'ClientIP' } });
    assert.equal(service.spec?.['sessionAffinity' as keyof typeof service.spec], 'ClientIP');
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['objectOverrides[0].spec.sessionAffinity'],
    );
  });

  it('may say what is so anyway, as programs do that write whole objects', () => {
    const whole = { metadata: { labels: { app: 'web' }, annotations: null, creationTimestamp: null }, spec: base.spec, status: {} };
    assert.deepEqual(confined(whole), { service: base, problems: [] });
  });

  it('keeps what is free of an override that says more', () => {
    const { service, problems } = confined({ spec: { type: 'NodePort', publishNotReadyAddresses: false } });
    assert.deepEqual(service.spec, { ...base.spec, publishNotReadyAddresses: false });
    assert.equal(problems.length, 1);
  });

  it('changes nothing else, whatever JSON it is', () => {
    const free = new Set([
      'ports',
      'publishNotReadyAddresses',
      'sessionAffinity',
      'sessionAffinityConfig',
      'internalTrafficPolicy',
      'trafficDistribution',
    ]);
    const decided = ({ metadata, spec = {} }: Service) => ({
      metadata,
      spec: Object.fromEntries(Object.entries(spec).filter(([field]) => !free.has(field))),
    });
    const nodePorts = ({ spec }: Service) =>
      (spec?.ports ?? []).map((port) => port?.nodePort).filter((number) => number !== undefined && number !== 30_080);
    const key = fc.oneof(
      fc.constantFrom(
        'metadata',
        'spec',
        'ports',
        'port',
        'nodePort',
        'selector',
        'type',
        'labels',
        'annotations',
        'app',
        '__proto__',
        'externalIPs',
      ),
      fc.string(),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, 80, 'web', true, 30_080, 31_000),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, tree, { maxKeys: 4 }), fc.dictionary(key, tree, { maxKeys: 4 }), (metadata, spec) => {
        const { service } = confined({ metadata, spec });
        assert.deepEqual(decided(service), decided(base));
        assert.deepEqual(nodePorts(service), []);
      }),
      { numRuns: 300 },
    );
  });
});

describe('objectOverridesPolicy of a class', () => {
  const listener = (objectOverrides: readonly Readonly<Record<string, unknown>>[]): Listener => ({
    apiVersion: 'listeners.stackable.tech/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
    spec: { className: 'inside', ports: [{ name: 'http', port: 80 }], objectOverrides: [...objectOverrides] },
  });
  const inside = (spec: object): ListenerClass => ({
    apiVersion: 'listeners.stackable.tech/v1alpha1',
    kind: 'ListenerClass',
    metadata: { name: 'inside' },
    spec: { serviceType: 'ClusterIP', ...spec },
  });
  const outside = { ...thisService, metadata: { name: 'web' }, spec: { type: 'LoadBalancer' } };

  for (const [policy, type] of [
    [undefined, 'LoadBalancer'],
    ['Any', 'LoadBalancer'],
    ['WithinClass', 'ClusterIP'],
  ] as const) {
    it(`${policy ?? 'that is left out'}: a ClusterIP class with an override to LoadBalancer gives ${type}`, () => {
      const plan = planService(listener([outside]), inside({ objectOverridesPolicy: policy }));
      assert.ok(plan.refused === undefined);
      assert.equal(plan.service.spec?.type, type);
      assert.equal(plan.notices.length, type === 'ClusterIP' ? 1 : 0);
    });
  }

  it("does not bind the class's own serviceOverrides", () => {
    const plan = planService(
      listener([]),
      inside({ objectOverridesPolicy: 'WithinClass', serviceOverrides: { spec: { externalIPs: ['192.0.2.1'] } } }),
    );
    assert.ok(plan.refused === undefined);
    assert.deepEqual(plan.service.spec?.['externalIPs' as keyof object], ['192.0.2.1']);
  });
});
