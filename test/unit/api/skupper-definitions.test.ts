import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXACTLY_ONE, NOT_BEGINNING } from '../../../src/api/skupper/check.ts';
import { skupperDefinitions, specSchemas } from '../../../src/api/skupper/crds.ts';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { specShapes } from '../../../src/api/generated/spec-shapes.ts';
import { validateResource } from '../../../src/api/skupper/validate.ts';
import { exampleOf } from '../../../scripts/reference-skupper.ts';
import { parse } from 'yaml';
import { nodesOf, rootOf } from './nodes.ts';

describe('each definition of the connection half', () => {
  for (const definition of skupperDefinitions()) {
    const { kind } = definition.spec.names;

    it(`of ${kind} is plain JSON`, () => {
      assert.deepEqual(JSON.parse(JSON.stringify(definition)), definition);
      assert.doesNotMatch(JSON.stringify(definition), /"~|patternProperties|"required":\[\]/);
    });

    it(`of ${kind} describes every field and gives each a type`, () => {
      for (const [path, node] of nodesOf(rootOf(definition))) {
        assert.ok(node.type, `${kind}${path} has no type`);
        assert.match(node.description ?? '', /^\S.*\.$/, `${kind}${path}: a description is a sentence`);
      }
    });

    it(`of ${kind} has in its status what every status has`, () => {
      const { status } = rootOf(definition).properties ?? {};
      assert.deepEqual(Object.keys(status?.properties ?? {}).slice(0, 3), ['status', 'message', 'conditions']);
    });

    it(`of ${kind} shows only fields that there are`, () => {
      const paths = new Set(nodesOf(rootOf(definition)).map(([path]) => path));
      const columns = definition.spec.versions.flatMap((version) => version.additionalPrinterColumns);
      assert.ok(columns.length > 0);
      for (const { jsonPath } of columns) assert.ok(paths.has(jsonPath), jsonPath);
    });

    it(`of ${kind} has an example that is valid without a cluster too`, () => {
      assert.deepEqual(validateResource(parse(exampleOf(kind))).problems, []);
    });
  }

  it('is of the resource that programs address', () => {
    const described = Object.entries(skupperResources).map(([kind, { group, plural }]) => [kind, `${plural}.${group}`]);
    const defined = skupperDefinitions().map(({ metadata, spec }) => [spec.names.kind, metadata.name]);
    assert.deepEqual(defined.toSorted(), described.toSorted());
  });

  it('has no short name that another one has', () => {
    const all = skupperDefinitions().flatMap(({ spec: { names } }) => [names.plural, names.singular, ...names.shortNames]);
    assert.deepEqual(
      all.filter((name, index) => all.indexOf(name) !== index),
      [],
    );
  });
});

describe('what files are checked by', () => {
  it('knows every rule that is not about a change', () => {
    const nodes = Object.values(specShapes).flatMap((shape) => nodesOf(shape).map(([, node]) => node));
    const rules = nodes.flatMap((node) => node['x-kubernetes-validations'] ?? []);
    assert.ok(rules.length > 0);
    for (const { rule } of rules) assert.ok(rule.includes('oldSelf') || EXACTLY_ONE.test(rule) || NOT_BEGINNING.test(rule), rule);
  });

  it('has every field of the schemas', () => {
    for (const [kind, schema] of specSchemas()) {
      assert.deepEqual(
        nodesOf(specShapes[kind]).map(([path]) => path),
        nodesOf(schema).map(([path]) => path),
        kind,
      );
    }
  });
});
