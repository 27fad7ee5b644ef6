import type { KubeObject } from '../../src/kube/objects.ts';

export type Selects = (object: KubeObject) => boolean;

/** Label and field selectors, as far as they are used: `a`, `!a`, `a=b`, `a!=b`, joined by commas. */
export function selectorOf(query: URLSearchParams, namespace: string | undefined): Selects | undefined {
  const labels = terms(query.get('labelSelector'));
  const fields = terms(query.get('fieldSelector'));
  if (labels.length === 0 && fields.length === 0 && namespace === undefined) return undefined;
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels.every((term) => holds(term, (key) => object.metadata.labels?.[key])) &&
    fields.every((term) => holds(term, (path) => fieldOf(object, path)));
}

interface Term {
  readonly key: string;
  readonly value: string | undefined;
  readonly isAbsent: boolean;
  readonly isOther: boolean;
}

function terms(text: string | null): readonly Term[] {
  return (text ?? '')
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [key = '', value] = term.replace(/^!/, '').split(/!=|==?/);
      return { key, value, isAbsent: term.startsWith('!'), isOther: term.includes('!=') };
    });
}

function holds({ key, value, isAbsent, isOther }: Term, look: (key: string) => string | undefined): boolean {
  const found = look(key);
  if (isAbsent) return found === undefined;
  return value === undefined ? found !== undefined : ((found ?? '') === value) !== isOther;
}

function fieldOf(object: KubeObject, path: string): string | undefined {
  let value: unknown = object;
  for (const segment of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[segment];
  return typeof value === 'string' ? value : undefined;
}
