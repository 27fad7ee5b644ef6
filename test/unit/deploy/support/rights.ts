/** Rights of accounts, read from the manifests that the chart renders into deploy/. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs?: readonly string[];
  readonly operations?: readonly string[];
}

export interface Manifest {
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

export interface Account {
  /** In deploy/. */
  readonly file: string;
  readonly name: string;
  readonly namespace: string;
}

export function manifestsOf(file: string): readonly Manifest[] {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../../deploy', file), 'utf8');
  return parseAllDocuments(text).map((document): Manifest => document.toJS());
}

/** `patch /pods`, once for each Role that gives it. */
export function grantedWrites({ file, ...account }: Account): readonly string[] {
  const manifests = manifestsOf(file);
  const bound = manifests.filter(({ subjects }) =>
    subjects?.some(({ name, namespace }) => name === account.name && namespace === account.namespace),
  );
  const roles = new Set(bound.map(({ roleRef }) => roleRef?.name));
  return manifests
    .filter(({ kind, metadata }) => kind.endsWith('Role') && roles.has(metadata.name))
    .flatMap(({ rules = [] }) => rules)
    .flatMap(({ apiGroups, resources, verbs = [] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb)).map((verb) => `${verb} ${groupOf(group, resource)}/${resource}`),
        ),
      ),
    );
}

export function policiesOf({ file, name, namespace }: Account): readonly Manifest[] {
  const user = `system:serviceaccount:${namespace}:${name}`;
  return manifestsOf(file).filter(
    ({ kind, spec }) =>
      kind === 'ValidatingAdmissionPolicy' && spec?.matchConditions?.some(({ expression }) => expression.includes(`"${user}"`)) === true,
  );
}

/** Events are one kind in two groups, and a rule for either sees both (matchPolicy: Equivalent). */
const groupOf = (group: string, resource: string): string => (resource === 'events' ? 'events.k8s.io' : group);
