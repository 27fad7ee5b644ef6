import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keepImmutable } from '../../../../src/exposure/listeners/immutable-fields.ts';
import { differs, recordIntent } from '../../../../src/exposure/listeners/service-patch.ts';
import type { Service } from '../../../../src/kube/objects.ts';

type Spec = NonNullable<Service['spec']>;

const service = (spec: Spec): Service => recordIntent({ metadata: { name: 'web', namespace: 'shop' }, spec });
const lb = { type: 'LoadBalancer' } as const;
const local = { ...lb, externalTrafficPolicy: 'Local' } as const;

const cases: readonly [what: string, live: Spec, intended: Spec, kept: Spec, field: string | undefined][] = [
  [
    'loadBalancerClass changed',
    { ...lb, loadBalancerClass: 'a/b' },
    { ...lb, loadBalancerClass: 'c/d' },
    { ...lb, loadBalancerClass: 'a/b' },
    'loadBalancerClass',
  ],
  ['loadBalancerClass added', lb, { ...lb, loadBalancerClass: 'c/d' }, lb, 'loadBalancerClass'],
  ['loadBalancerClass removed', { ...lb, loadBalancerClass: 'a/b' }, lb, { ...lb, loadBalancerClass: 'a/b' }, 'loadBalancerClass'],
  ['loadBalancerClass with the type', { ...lb, loadBalancerClass: 'a/b' }, { type: 'NodePort' }, { type: 'NodePort' }, undefined],
  [
    'a type with loadBalancerClass',
    { type: 'ClusterIP' },
    { ...lb, loadBalancerClass: 'a/b' },
    { ...lb, loadBalancerClass: 'a/b' },
    undefined,
  ],
  [
    'clusterIP changed',
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] },
    { clusterIP: '10.0.0.2' },
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] },
    'clusterIP',
  ],
  [
    'clusterIPs changed',
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] },
    { clusterIPs: ['10.0.0.2'] },
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] },
    'clusterIP',
  ],
  ['headless from now on', { clusterIP: '10.0.0.1' }, { clusterIP: 'None' }, { clusterIP: '10.0.0.1' }, 'clusterIP'],
  ['headless no longer', { clusterIP: 'None' }, {}, { clusterIP: 'None' }, 'clusterIP'],
  ['clusterIP not allocated yet', {}, { clusterIP: '10.0.0.2' }, { clusterIP: '10.0.0.2' }, undefined],
  [
    'another primary family',
    { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    { ipFamilies: ['IPv6'] },
    { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    'ipFamilies[0]',
  ],
  [
    'a second family',
    { ipFamilies: ['IPv4'] },
    { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
    { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
    undefined,
  ],
  [
    'healthCheckNodePort',
    { ...local, healthCheckNodePort: 30_001 },
    { ...local, healthCheckNodePort: 30_002 },
    { ...local, healthCheckNodePort: 30_001 },
    'healthCheckNodePort',
  ],
  [
    'healthCheckNodePort with the policy',
    { ...lb, healthCheckNodePort: 0 },
    { ...local, healthCheckNodePort: 30_002 },
    { ...local, healthCheckNodePort: 30_002 },
    undefined,
  ],
  ['nothing', { ...lb, loadBalancerClass: 'a/b' }, { ...lb, loadBalancerClass: 'a/b' }, { ...lb, loadBalancerClass: 'a/b' }, undefined],
];

describe('a field that Kubernetes never changes', () => {
  for (const [what, live, intended, expected, field] of cases) {
    test(`${what}: ${field === undefined ? 'is applied' : 'stays, with a notice, and the rest is applied'}`, () => {
      const rest = { sessionAffinity: 'ClientIP' };
      const kept = keepImmutable(service({ ...intended, ...rest } as Spec), service(live));
      assert.deepEqual({ ...kept.service.spec }, { ...expected, ...rest });
      assert.equal(kept.notices.length, field === undefined ? 0 : 1);
      if (field !== undefined) assert.match(kept.notices.join(), new RegExp(`cannot change spec.${RegExp.escape(field)} from `));
    });
  }

  test('that something else set is not ours to remove', () => {
    const live = { ...service(lb), spec: { ...lb, loadBalancerClass: 'service.k8s.aws/nlb' } };
    assert.deepEqual(keepImmutable(service(lb), live), { service: service(lb), notices: [] });
  });

  test('stays noticed after the rest has been applied', () => {
    const live = service({ ...lb, loadBalancerClass: 'a/b' });
    const first = keepImmutable(service(lb), live);
    assert.equal(differs(first.service, live), false);
    assert.deepEqual(keepImmutable(service(lb), first.service).notices, first.notices);
  });
});
