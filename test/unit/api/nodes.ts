import assert from 'node:assert/strict';
import type { CustomResourceDefinition, Structural } from '../../../src/api/crd.ts';

export function rootOf(definition: CustomResourceDefinition): Structural {
  const [version] = definition.spec.versions;
  assert.ok(version);
  return version.schema.openAPIV3Schema;
}

/** The schema and all that is below it, with the path to each. */
export function nodesOf(schema: Structural, path = ''): readonly (readonly [path: string, node: Structural])[] {
  return [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => nodesOf(field, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : nodesOf(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : nodesOf(schema.additionalProperties, `${path}.*`)),
  ];
}
