import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orphanPolicy } from '../../../src/site-controller/orphan-policy.ts';
import type { Deployment, KubeObject, OwnerReference, RoleBinding } from '../../../src/kube/objects.ts';

const site: OwnerReference = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'u2' };
const before: OwnerReference = { ...site, uid: 'u1' };
const deployment: OwnerReference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'skupper-router', uid: 'd1' };
const one: OwnerReference = { ...site, kind: 'SecuredAccess', name: 'skupper-router', uid: 's1' };
const two: OwnerReference = { ...one, name: 'skupper-router-2', uid: 's2' };

describe('an object that stands where another is wanted', () => {
  for (const [what, current, wanted, fate] of [
    ['of the same Site', [site], [site], 'kept'],
    ['of a Site that is gone', [before], [site], 'replaced'],
    ['of a Site that is gone, in another version of the API', [{ ...before, apiVersion: 'skupper.io/v1' }], [site], 'replaced'],
    ['of the Site, and of one that is gone', [before, site], [site], 'kept'],
    ['without an owner', [], [site], 'kept'],
    ["of an earlier controller's router", [deployment], [site], 'kept'],
    ['of a kind that is called the same elsewhere', [{ ...before, apiVersion: 'example.org/v1' }], [site], 'kept'],
    ['of the first of two', [one], [one, two], 'kept'],
    ['of two owners, one of them deleted', [one, two], [one], 'kept'],
    ['of others than these two', [{ ...one, uid: 's0' }], [one, two], 'replaced'],
    ['with an owner, desired without one', [site], [], 'kept'],
  ] as const) {
    test(`${what} is ${fate}`, () => {
      assert.equal(orphanPolicy(owned(current), owned(wanted)), fate);
    });
  }

  test('is awaited while it goes', () => {
    const going: KubeObject = { ...owned([before]), metadata: { ...owned([before]).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.equal(orphanPolicy(going, owned([site])), 'awaited');
  });

  for (const [what, current, wanted, fate] of [
    ['a selector that is the same', selecting({ a: '1' }), selecting({ a: '1' }), 'kept'],
    ['a selector with more', selecting({ a: '1', group: 'g' }), selecting({ a: '1' }), 'replaced'],
    ['the same role', binding('r'), binding('r'), 'kept'],
    ['another role', binding('r'), binding('s'), 'replaced'],
  ] as const) {
    test(`with ${what} is ${fate}`, () => {
      assert.equal(orphanPolicy(current, wanted), fate);
    });
  }
});

function owned(ownerReferences: readonly OwnerReference[]): KubeObject {
  return { kind: 'ConfigMap', metadata: { name: 'x', ownerReferences } };
}

function selecting(matchLabels: Readonly<Record<string, string>>): Deployment {
  return { kind: 'Deployment', metadata: { name: 'x' }, spec: { selector: { matchLabels } } };
}

function binding(name: string): RoleBinding {
  return { kind: 'RoleBinding', metadata: { name: 'x' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name } };
}
