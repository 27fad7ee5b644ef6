import type { Structural } from '../../../src/api/crd.ts';

/**
 * What `earlier` admits and `current` does not, one line each. Compares schemas instead of samples: structural schemas
 * have no unions, so one is wider than another exactly when it is so at every node.
 */
export function narrowings(current: Structural | undefined, earlier: Structural, path = ''): readonly string[] {
  if (current === undefined) return [`${path} is gone`];
  const found: string[] = [];
  const keywords = new Set([...Object.keys(current), ...Object.keys(earlier)]);
  for (const keyword of keywords) {
    if (!comparable.has(keyword)) found.push(`${path} has ${keyword}, which this comparison does not know`);
  }
  for (const keyword of limits) {
    const isChoice = keyword === 'pattern' && earlier.enum !== undefined && earlier.enum.every((value) => admits(current, value));
    if (current[keyword] !== undefined && current[keyword] !== earlier[keyword] && !isChoice)
      found.push(`${path} is limited by ${keyword}`);
  }
  if (current.type !== earlier.type) found.push(`${path} is ${current.type}, was ${earlier.type}`);
  if (earlier.nullable === true && current.nullable !== true) found.push(`${path} may no longer be null`);
  // The API server refuses null under `enum`, whatever `nullable` says.
  if (current.nullable === true && current.enum !== undefined) found.push(`${path} is never null`);
  if (current.enum !== undefined && earlier.enum === undefined) found.push(`${path} may no longer be any text`);
  for (const value of earlier.enum ?? []) {
    if (current.enum?.includes(value) === false) found.push(`${path} may no longer be ${value}`);
  }
  const keepsUnknown = current['x-kubernetes-preserve-unknown-fields'] === true;
  if (earlier['x-kubernetes-preserve-unknown-fields'] === true && !keepsUnknown) found.push(`${path} no longer keeps unknown fields`);
  for (const name of current.required ?? []) {
    const hasDefault = current.properties?.[name]?.default !== undefined;
    if (earlier.required?.includes(name) !== true && !hasDefault) found.push(`${path}.${name} is now required`);
  }
  for (const [name, field] of Object.entries(earlier.properties ?? {})) {
    found.push(...narrowings(current.properties?.[name], field, `${path}.${name}`));
  }
  if (earlier.items !== undefined) found.push(...narrowings(current.items, earlier.items, `${path}[]`));
  if (earlier.additionalProperties !== undefined) {
    found.push(...narrowings(current.additionalProperties, earlier.additionalProperties, `${path}.*`));
  }
  return found;
}

function admits({ pattern = '' }: Structural, value: string): boolean {
  return new RegExp(pattern).test(value);
}

const limits = ['format', 'minLength', 'maxLength', 'pattern', 'minimum'] as const;

const comparable: ReadonlySet<string> = new Set([
  ...limits,
  'type',
  'description',
  'default',
  'nullable',
  'enum',
  'properties',
  'required',
  'items',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
]);
