/** The rights of each account beside the policies that narrow them, both as the chart renders them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OWN_POLICY_HINT } from '../../../src/kube/refusal.ts';
import { writtenKinds } from '../../e2e/support/written-kinds.ts';
import { grantedWrites, manifestsOf, policiesOf, type Account } from './support/rights.ts';
import { routerRights } from '../../../src/api/skupper/router-rights.ts';

const skupperStatuses = manifestsOf('earshot-sites.yaml')
  .flatMap(({ rules = [] }) => rules)
  .filter(({ apiGroups, verbs = [] }) => apiGroups.every((group) => group.endsWith('skupper.io')) && verbs.join() === 'patch')
  .flatMap(({ apiGroups, resources }) =>
    resources.filter((resource) => resource.endsWith('/status')).map((resource) => `${apiGroups[0]}/${resource}`),
  );

const accounts: readonly (Account & {
  /** Rights that RBAC alone limits, and why that is enough. */
  readonly heldByRole: ReadonlyMap<string, string>;
})[] = [
  {
    file: 'earshot.yaml',
    name: 'earshot-controller',
    namespace: 'earshot-system',
    heldByRole: new Map([
      ['update listeners.stackable.tech/listeners/finalizers', 'no request: it is asked about when an owner is named'],
      ['update /persistentvolumes/finalizers', 'no request: it is asked about when an owner is named'],
      [
        'patch listeners.stackable.tech/listeners/status',
        'a status that only the controller writes; the API server ignores metadata and spec',
      ],
      ['patch listeners.stackable.tech/podlisteners/status', 'the same'],
      ['delete listeners.stackable.tech/podlisteners', 'a request that is not answered is sent again'],
      ['create coordination.k8s.io/leases', 'in its own namespace'],
      ['update coordination.k8s.io/leases', 'by name'],
      ['patch coordination.k8s.io/leases', 'by name'],
    ]),
  },
  { file: 'earshot.yaml', name: 'earshot-node', namespace: 'earshot-system', heldByRole: new Map() },
  {
    file: 'earshot-sites.yaml',
    name: 'skupper-controller',
    namespace: 'skupper',
    heldByRole: new Map([
      ...skupperStatuses.map((resource) => [`patch ${resource}`, 'a status: the API server ignores metadata and spec'] as const),
      ['create route.openshift.io/routes/custom-host', 'no request: it is asked about when a Route names a host'],
      ['update route.openshift.io/routes/custom-host', 'the same'],
      ['update coordination.k8s.io/leases', 'by name'],
      ['patch coordination.k8s.io/leases', 'by name'],
    ]),
  },
];

const operations: ReadonlyMap<string, string> = new Map([
  ['create', 'CREATE'],
  ['update', 'UPDATE'],
  ['patch', 'UPDATE'],
  ['delete', 'DELETE'],
]);

for (const account of accounts) {
  describe(`the account ${account.name}`, () => {
    const policies = policiesOf(account);
    const writes = grantedWrites(account);

    it('may write nothing that neither a policy nor its role alone, for a reason, narrows', () => {
      const covered = new Set(
        policies.flatMap(({ spec }) =>
          (spec?.matchConstraints?.resourceRules ?? []).flatMap(({ apiGroups, resources, operations: which = [] }) =>
            apiGroups.flatMap((group) => resources.flatMap((resource) => which.map((operation) => `${operation} ${group}/${resource}`))),
          ),
        ),
      );
      assert.ok(writes.length > 0, 'the roles were found');
      const free = writes.filter((write) => {
        const [verb = '', what = ''] = write.split(' ');
        return !account.heldByRole.has(write) && !covered.has(`${operations.get(verb) ?? verb} ${what}`);
      });
      assert.deepEqual(free, []);
      const unused = [...account.heldByRole.keys()].filter((write) => !writes.includes(write));
      assert.deepEqual(unused, [], 'the reasons are about rights that exist');
    });

    it('is denied by each of its policies, with the field in the message', () => {
      const bound = manifestsOf(account.file).filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding');
      const denied = new Map(bound.map(({ spec }) => [spec?.policyName, spec?.validationActions]));
      assert.ok(policies.length > 0);
      for (const { metadata, spec } of policies) {
        assert.deepEqual(denied.get(metadata.name), ['Deny'], metadata.name);
        assert.equal(spec?.failurePolicy, 'Fail', metadata.name);
        for (const { message = '' } of spec.validations ?? []) {
          // Admission of others can change these: the message names the remedy.
          if (message.includes(OWN_POLICY_HINT)) assert.match(message, /\b(spec|metadata|reportingController|type)\b/, metadata.name);
        }
      }
    });

    it('has every kind that it writes in the matrix of other admission', () => {
      const kinds = new Set(writtenKinds.map(({ group, resource }) => `${group}/${resource}`));
      const missing = writes
        .filter((write) => !/^delete |\/(?:status|finalizers|custom-host)$/.test(write))
        .map((write) => write.split(' ')[1] ?? '')
        .filter((what) => !kinds.has(what));
      assert.deepEqual([...new Set(missing)], []);
    });
  });
}

it('each kind that a router writes is in the matrix of other admission', () => {
  const kinds = new Set(writtenKinds.map(({ group, resource }) => `${group}/${resource}`));
  const missing = routerRights(['a'], ['a'])
    .filter(({ verbs }) => verbs.some((verb) => ['create', 'patch', 'update'].includes(verb)))
    .flatMap(({ apiGroups = [], resources = [] }) => apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`)))
    .filter((what) => !what.endsWith('/status') && !kinds.has(what));
  assert.deepEqual(missing, []);
});
