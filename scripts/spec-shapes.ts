/** The schemas of skupper.io as a program's text, without what only people read: what loads it need not load typebox. */
import { specSchemas } from '../src/api/skupper/crds.ts';

export function specShapes(): string {
  const kinds = specSchemas().map(
    ([kind, schema]) => `  ${kind}: ${JSON.stringify(schema, (_key, value: unknown) => withoutDescription(value))},`,
  );
  return `/** Written by \`npm run generate\` from the schemas of src/api/skupper: what \`validateResource\` checks by. */
import type { Structural } from '../crd.ts';
import type { SkupperKind } from '../skupper/index.ts';

export const specShapes: Readonly<Record<SkupperKind, Structural>> = {
${kinds.join('\n')}
};
`;
}

/** A node's description is a text; a field that is called so would be a node. */
function withoutDescription(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key, inner]) => key !== 'description' || typeof inner !== 'string'));
}
