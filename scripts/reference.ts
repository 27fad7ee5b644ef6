/** The reference of the resources as Markdown, from their CustomResourceDefinitions. */
import type { CrdVersion, CustomResourceDefinition, Structural } from '../src/api/crd.ts';

/** What a reference says beside the fields. */
export interface ReferenceTexts {
  readonly beforeKinds: string;
  readonly afterKinds: string;
  /** A manifest of the kind. @throws Error if it does not exist */
  exampleOf(kind: string): string;
  remarksOn(kind: string): string;
}

export function reference(definitions: readonly CustomResourceDefinition[], texts: ReferenceTexts): string {
  const sections = [texts.beforeKinds, ...definitions.map((definition) => kindSection(definition, texts)), texts.afterKinds];
  return `${sections.map((section) => section.trim()).join('\n\n')}\n`;
}

function kindSection(definition: CustomResourceDefinition, { exampleOf, remarksOn }: ReferenceTexts): string {
  const { names, scope, versions } = definition.spec;
  const short = names.shortNames.length === 0 ? '' : `, for short ${names.shortNames.map((name) => `\`${name}\``).join(', ')}`;
  return versions
    .map((version) => {
      const schema = version.schema.openAPIV3Schema;
      return [
        `## ${names.kind}`,
        schema.description ?? '',
        `${scope === 'Cluster' ? 'Cluster-scoped' : 'Namespaced'}; \`kubectl get ${definition.metadata.name}\`${short}.`,
        remarksOn(names.kind),
        '```yaml',
        exampleOf(names.kind).trim(),
        '```',
        ...Object.entries(schema.properties ?? {}).map(([name, part]) => partSection(names.kind, name, part)),
        columnsSection(version),
      ]
        .filter((paragraph) => paragraph !== '')
        .join('\n\n')
        .replaceAll('```yaml\n\n', '```yaml\n')
        .replaceAll('\n\n```\n', '\n```\n');
    })
    .join('\n\n');
}

function partSection(kind: string, name: string, part: Structural): string {
  const rows = fieldsOf(part, '', part.required ?? []);
  const table = ['| field | type | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
  const rules = (part['x-kubernetes-validations'] ?? []).map(({ message }) => `The API server refuses a change with: "${message}"`);
  return [`### ${kind} \`${name}\``, part.description ?? '', table, ...rules].join('\n\n');
}

function fieldsOf(schema: Structural, prefix: string, required: readonly string[]): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const must = required.includes(name) && field.default === undefined ? '\\*' : '';
    const fallback = field.default === undefined ? '' : `\`${JSON.stringify(field.default).replaceAll('"', '')}\``;
    const row = `| \`${path}\`${must} | ${typeOf(field)} | ${fallback} | ${cell(field.description ?? '')} |`;
    const inner = field.items ?? field.additionalProperties ?? field;
    const suffix = field.items === undefined ? (field.additionalProperties === undefined ? '.' : '.*.') : '[].';
    return [row, ...fieldsOf(inner, path + suffix, inner.required ?? [])];
  });
}

function typeOf(field: Structural): string {
  const type = field.enum === undefined ? plainTypeOf(field) : field.enum.map((value) => `\`${value}\``).join(', ');
  return field.nullable === true ? `${type}, or null` : type;
}

function plainTypeOf(field: Structural): string {
  if (field.items !== undefined) return `list of ${plural(plainTypeOf(field.items))}`;
  if (field.additionalProperties !== undefined) return `map of ${plural(plainTypeOf(field.additionalProperties))}`;
  if (field['x-kubernetes-preserve-unknown-fields'] === true) return 'any object';
  return field.format === 'date-time' ? 'time' : (field.type ?? '');
}

function plural(type: string): string {
  return type === 'any object' ? 'objects' : `${type}s`;
}

function columnsSection({ additionalPrinterColumns: columns }: CrdVersion): string {
  const named = (wide: boolean) => columns.filter(({ priority = 0 }) => priority > 0 === wide).map(({ name }) => name);
  const extra = named(true);
  const wide = extra.length === 0 ? '' : `; with \`-o wide\` also ${extra.join(', ')}`;
  return `\`kubectl get\` shows ${named(false).join(', ')}${wide}.`;
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}
