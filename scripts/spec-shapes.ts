/** The schemas of skupper.io as a program's text, without what only people read: what loads it need not load typebox. */
import { specSchemas } from '../src/api/skupper/crds.ts';

export function specShapes(): string {
  const bare = JSON.stringify(Object.fromEntries(specSchemas()), (_key, value: unknown) => withoutDescription(value), 2);
  return `/** Written by \`npm run generate\` from the schemas beside it: what \`validateResource\` checks by. */
import type { Structural } from '../crd.ts';
import type { SkupperKind } from './index.ts';

export const specShapes: Readonly<Record<SkupperKind, Structural>> = ${bare};
`;
}

/** A node's description is a text; a field that is called so would be a node. */
function withoutDescription(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key, inner]) => key !== 'description' || typeof inner !== 'string'));
}
