import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../src/kube/errors.ts';
import { refusalAdvice, refusalCauseOf, withRefusalAdvice, type RefusalCause } from '../../../src/kube/refusal.ts';

const refused = (message: string, status = 403): ApiError =>
  new ApiError('create podlisteners ns/pod-1', { status, reason: 'Forbidden', message });

/** As Kubernetes 1.36 words them. */
const answers: readonly (readonly [cause: RefusalCause, message: string, advice: RegExp, status?: number])[] = [
  ['credentials', 'Unauthorized', /token of the installation/, 401],
  [
    'rights',
    'podlisteners.listeners.stackable.tech is forbidden: User "system:serviceaccount:a:b" cannot create resource "podlisteners" in API group "listeners.stackable.tech" in the namespace "ns"',
    /\(RBAC\): install Earshot again/,
  ],
  [
    'quota',
    'services "web" is forbidden: exceeded quota: few, requested: services=1, used: services=1, limited: services=1',
    /ResourceQuota/,
  ],
  ['quota', 'pods "web" is forbidden: failed quota: few: must specify limits.memory for: main', /ResourceQuota/],
  [
    'policy',
    "services \"web\" is forbidden: ValidatingAdmissionPolicy 'teams' with binding 'teams' denied request: label team is missing",
    /admission policy of this cluster/,
  ],
  [
    'policy',
    "deployments.apps \"skupper-router\" is invalid: : ValidatingAdmissionPolicy 'teams' with binding 'all' denied request: no",
    /admission policy of this cluster/,
    422,
  ],
  [
    'webhook',
    'admission webhook "validate.kyverno.svc-fail" denied the request: label team is missing',
    /admission webhook of this cluster/,
  ],
  [
    'own-policy',
    "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'earshot-controller-pods' with binding 'earshot-controller-pods' denied request: Earshot's controller may not change spec of a pod. If another admission policy or webhook changed it, exclude requests of system:serviceaccount:earshot-system:earshot-controller there.",
    /^$/,
  ],
  ['pod-security', 'pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true', /Pod Security/],
  ['other', 'unable to create new content in namespace ns because it is being terminated', /^$/],
];

describe('a refusal of the API server', () => {
  for (const [cause, message, advice, status] of answers) {
    it(`is ${cause} where it says ${message.slice(0, 60)}`, () => {
      assert.equal(refusalCauseOf(refused(message, status)), cause);
      assert.match(refusalAdvice(refused(message, status)), advice);
    });
  }

  it('gets the advice of RBAC only where RBAC refused', () => {
    const blamed = answers.filter(
      ([cause, message, , status]) => cause !== 'rights' && refusalAdvice(refused(message, status)).includes('RBAC'),
    );
    assert.deepEqual(blamed, []);
  });

  it('separates the advice from a message without a full stop', () => {
    const quota = refused('exceeded quota: q', 403);
    assert.equal(withRefusalAdvice('exceeded quota: q', quota), 'exceeded quota: q. Raise the ResourceQuota, or free some of it.');
    assert.equal(withRefusalAdvice('No.', quota), 'No. Raise the ResourceQuota, or free some of it.');
    assert.equal(withRefusalAdvice('No', new Error('x')), 'No');
  });

  it('has no advice where it is no answer of the API server', () => assert.equal(refusalAdvice(new Error('x')), ''));
});
