/** The rights of the controller's account beside the policies that narrow them, both as the chart renders them (deploy/earshot.yaml). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs?: readonly string[];
  readonly operations?: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly name: string };
  readonly subjects?: readonly { readonly name: string; readonly namespace: string }[];
  readonly spec?: {
    readonly policyName?: string;
    readonly validationActions?: readonly string[];
    readonly failurePolicy?: string;
    readonly matchConstraints?: { readonly resourceRules: readonly Rule[] };
    readonly matchConditions?: readonly { readonly expression: string }[];
    readonly validations?: readonly { readonly expression: string; readonly message?: string }[];
  };
}

const file = path.resolve(import.meta.dirname, '../../../deploy/earshot.yaml');
const manifests = parseAllDocuments(readFileSync(file, 'utf8')).map((document): Manifest => document.toJS());
const ofKind = (kind: string): readonly Manifest[] => manifests.filter((manifest) => manifest.kind === kind);

const ACCOUNT = { name: 'earshot-controller', namespace: 'earshot-system' };
const policies = ofKind('ValidatingAdmissionPolicy').filter(({ metadata }) => metadata.name.startsWith('earshot-controller-'));

/** What RBAC alone holds, and why that is enough. */
const heldByRole = new Map([
  ['update listeners.stackable.tech/listeners/finalizers', 'no request: it is asked about when an owner is named'],
  ['update /persistentvolumes/finalizers', 'no request: it is asked about when an owner is named'],
  ['patch listeners.stackable.tech/listeners/status', 'a status that is of the controller alone; metadata and spec are not written by it'],
  ['patch listeners.stackable.tech/podlisteners/status', 'the same'],
  ['delete listeners.stackable.tech/podlisteners', 'what is not answered is asked for again'],
  ['create coordination.k8s.io/leases', 'in its own namespace'],
  ['update coordination.k8s.io/leases', 'by name'],
  ['patch coordination.k8s.io/leases', 'by name'],
]);

const operations: ReadonlyMap<string, string> = new Map([
  ['create', 'CREATE'],
  ['update', 'UPDATE'],
  ['patch', 'UPDATE'],
  ['delete', 'DELETE'],
]);
/** Events are one kind in two groups, and a rule for either sees both (matchPolicy: Equivalent). */
const groupOf = (group: string, resource: string): string => (resource === 'events' ? 'events.k8s.io' : group);

function grantedWrites(): readonly string[] {
  const bound = manifests.filter(({ subjects }) =>
    subjects?.some(({ name, namespace }) => name === ACCOUNT.name && namespace === ACCOUNT.namespace),
  );
  const roles = new Set(bound.map(({ roleRef }) => roleRef?.name));
  const rules = manifests
    .filter(({ kind, metadata }) => kind.endsWith('Role') && roles.has(metadata.name))
    .flatMap(({ rules: of }) => of ?? []);
  return rules.flatMap(({ apiGroups, resources, verbs = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb)).map((verb) => `${verb} ${groupOf(group, resource)}/${resource}`),
      ),
    ),
  );
}

test('everything that the account of the controller may write is held by a policy, or by its role alone for a reason', () => {
  const covered = new Set(
    policies.flatMap(({ spec }) =>
      (spec?.matchConstraints?.resourceRules ?? []).flatMap(({ apiGroups, resources, operations: which = [] }) =>
        apiGroups.flatMap((group) => resources.flatMap((resource) => which.map((operation) => `${operation} ${group}/${resource}`))),
      ),
    ),
  );
  const writes = grantedWrites();
  assert.ok(writes.length > 20, 'the roles were found');
  const free = writes.filter((write) => {
    const [verb = '', what = ''] = write.split(' ');
    return !heldByRole.has(write) && !covered.has(`${operations.get(verb) ?? verb} ${what}`);
  });
  assert.deepEqual(free, []);
  assert.deepEqual(
    [...heldByRole.keys()].filter((write) => !writes.includes(write)),
    [],
    'the reasons are about rights that there are',
  );
});

test('each policy is about the account that the roles are bound to, denies, and says which field it is about', () => {
  const denied = new Map(ofKind('ValidatingAdmissionPolicyBinding').map(({ spec }) => [spec?.policyName, spec?.validationActions]));
  for (const { metadata, spec } of policies) {
    assert.deepEqual(denied.get(metadata.name), ['Deny'], metadata.name);
    assert.equal(spec?.failurePolicy, 'Fail', metadata.name);
    assert.deepEqual(
      spec.matchConditions?.map(({ expression }) => expression),
      [`request.userInfo.username == "system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}"`],
    );
    for (const { message } of spec.validations ?? []) assert.match(message ?? '', /\b(spec|metadata|reportingController)\b/, metadata.name);
  }
});
