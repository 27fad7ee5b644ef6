/** The rights of the account of the controller of sites, as the chart renders them (deploy/earshot-sites.yaml), beside what the code does with them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { routerRights } from '../../../src/api/skupper/router-rights.ts';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { keptObjects } from '../../../src/site-controller/kept-objects.ts';
import { observerObjects } from '../../../src/site-controller/observer/observer-objects.ts';
import type { PolicyRule, Role } from '../../../src/kube/objects.ts';
import { viewOf } from '../site-controller/support/view.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly PolicyRule[];
}

const file = path.resolve(import.meta.dirname, '../../../deploy/earshot-sites.yaml');
const manifests = parseAllDocuments(readFileSync(file, 'utf8')).map((document): Manifest => document.toJS());
const rulesOf = (kind: string, name: string): readonly PolicyRule[] =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name)?.rules ?? assert.fail(`no ${kind} ${name}`);
const everywhere = rulesOf('ClusterRole', 'skupper-controller');

/** Rights of rules, a line each: `get secrets`, `patch leases.coordination.k8s.io skupper-site-leader`. */
function lines(rules: readonly PolicyRule[]): readonly string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [''], verbs }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.map((name) => `${verb} ${resource}${group === '' ? '' : `.${group}`}${name === '' ? '' : ` ${name}`}`),
        ),
      ),
    ),
  );
}

const allowed = new Set(lines(everywhere));
/** For one name, what is allowed for all is. */
const isAllowed = (line: string): boolean => allowed.has(line) || allowed.has(line.split(' ').slice(0, 2).join(' '));

test('it may follow every kind that it keeps', () => {
  const kept = [...Object.values(skupperResources), ...keptObjects.map(({ of }) => of)];
  const missing = kept
    .flatMap((of) => ['get', 'list', 'watch'].map((verb) => `${verb} ${of.plural}${of.group === '' ? '' : `.${of.group}`}`))
    .filter((line) => !isAllowed(line));
  assert.deepEqual(missing, []);
});

test('it has every right that it gives to routers, so that it needs none to give what it has not', () => {
  const given = lines(routerRights(['skupper-local-server'], ['link']));
  assert.ok(given.length > 20);
  assert.deepEqual(
    given.filter((line) => !isAllowed(line)),
    [],
  );
});

test('it has every right that it gives to consoles', () => {
  const metadata = { namespace: 'west', name: 'network-observer', uid: 'o' };
  const observer = { apiVersion: 'observability.skupper.io/v2alpha1', kind: 'NetworkObserver', metadata, spec: {} };
  const role = observerObjects(viewOf([observer])).objects.find(({ of }) => of.kind === 'Role')?.object as Role | undefined;
  const given = lines(role?.rules ?? []);
  assert.ok(given.length > 20);
  assert.deepEqual(
    given.filter((line) => !isAllowed(line)),
    [],
  );
});

test('it has no right over everything, over other accounts, over nodes, or within pods', () => {
  const all = [...lines(rulesOf('Role', 'skupper-controller-leader')), ...allowed];
  const far = all.filter((line) =>
    /\*|escalate|bind |impersonate|nodes|pods\/|\/token|^(?:update|deletecollection) (?!leases|routes\/)/.test(line),
  );
  assert.deepEqual(far, []);
});

test('it changes specs that users write only where they need correction', () => {
  const changed = [...allowed].filter((line) => /^(?:create|patch|delete) [a-z]+\.skupper\.io$/.test(line));
  assert.deepEqual(changed.toSorted(), [
    ...['create', 'delete'].flatMap((verb) =>
      ['certificates', 'links', 'routeraccesses', 'securedaccesses'].map((kind) => `${verb} ${kind}.skupper.io`),
    ),
    ...['certificates', 'links', 'routeraccesses', 'securedaccesses'].map((kind) => `patch ${kind}.skupper.io`),
  ]);
});
