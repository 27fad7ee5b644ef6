import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { staleFiles } from '../../../scripts/generate.ts';
import type { Structural } from '../../../src/api/crd.ts';
import { customResourceDefinitions } from '../../../src/api/listeners/crds.ts';
import * as resources from '../../../src/api/listeners/index.ts';
import { podLabelOf } from '../../../src/api/listeners/names.ts';
import { narrowings } from './admission.ts';
import { earlierDefinitions } from './earlier-definitions.ts';
import { nodesOf, rootOf } from './nodes.ts';

it("the checked-in definitions equal the generator's output", () => {
  assert.deepEqual(staleFiles(), [], 'run `npm run generate` and check the result in');
});

describe('each definition', () => {
  for (const definition of customResourceDefinitions()) {
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

    it(`of ${kind} has only defaults of the field's own type`, () => {
      for (const [path, node] of nodesOf(rootOf(definition))) {
        if (node.default === undefined) continue;
        const type = Array.isArray(node.default) ? 'array' : typeof node.default;
        assert.equal(type, node.type, `${kind}${path}`);
        if (node.enum !== undefined) assert.ok(node.enum.includes(String(node.default)), `${kind}${path}`);
      }
    });

    it(`of ${kind} survives the Helm release that installed an earlier one`, () => {
      assert.equal(definition.metadata.annotations?.['helm.sh/resource-policy'], 'keep');
    });
  }

  it('is of the resource that programs address', () => {
    const described = [resources.listenerClasses, resources.listeners, resources.podListeners].map(
      ({ group, kind, plural, namespaced }) => [`${plural}.${group}`, kind, namespaced ? 'Namespaced' : 'Cluster'],
    );
    const defined = customResourceDefinitions().map(({ metadata, spec }) => [metadata.name, spec.names.kind, spec.scope]);
    assert.deepEqual(defined, described);
  });
});

describe('values that an earlier system admitted stay admitted', () => {
  const current = new Map(customResourceDefinitions().map((definition) => [definition.metadata.name, definition]));
  for (const earlier of earlierDefinitions()) {
    it(`in ${earlier.spec.names.kind}`, () => {
      const definition = current.get(earlier.metadata.name);
      assert.ok(definition);
      assert.deepEqual(narrowings(rootOf(definition), rootOf(earlier)), []);
    });
  }

  const cases: readonly [name: string, current: Structural, earlier: Structural, narrowed: readonly string[]][] = [
    ['a limit', { type: 'string', pattern: 'x' }, { type: 'string' }, [' is limited by pattern']],
    ['a shorter choice', { type: 'string', enum: ['a'] }, { type: 'string', enum: ['a', 'b'] }, [' may no longer be b']],
    ['null', { type: 'string' }, { type: 'string', nullable: true }, [' may no longer be null']],
    ['a new duty', { type: 'object', required: ['a'] }, { type: 'object' }, ['.a is now required']],
    ['a lost field', { type: 'object' }, { type: 'object', properties: { a: { type: 'string' } } }, ['.a is gone']],
    ['pruning', { type: 'object' }, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, [' no longer keeps unknown fields']],
  ];
  for (const [name, narrow, wide, narrowed] of cases) {
    it(`and ${name} would be noticed`, () => {
      assert.deepEqual(narrowings(narrow, wide), narrowed);
      assert.deepEqual(narrowings(wide, wide), []);
    });
  }
});

it('the label by which a Service finds its pods is the one that existing pods carry', () => {
  assert.deepEqual(podLabelOf({ name: 'web', uid: '6f1ed9a5-0d55-4c5c-9d0c-1d3d2b1f7a10' }), [
    'listener.stackable.tech/mnt.6f1ed9a50d554c5c9d0c1d3d2b1f7a10',
    'web',
  ]);
});
