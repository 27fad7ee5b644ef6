/** Every Kubernetes object that docs/, examples/ and the README show. */
import { globSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

export interface DocumentedManifest {
  readonly file: string;
  readonly manifest: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata?: { readonly name?: string; readonly namespace?: string };
  };
}

const root = new URL('../..', import.meta.url).pathname;

export function documentedManifests(): readonly DocumentedManifest[] {
  const files = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.{md,yaml,yml}'], { cwd: root }).toSorted();
  return files.flatMap((file) => {
    const text = readFileSync(root + file, 'utf8');
    const sources = file.endsWith('.md') ? fencedYaml(text) : [text];
    return sources.flatMap((source) => manifestsIn(file, source).map((manifest) => ({ file, manifest })));
  });
}

function fencedYaml(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^( *)```ya?ml\n(.*?)^\1```/gms)].map(([, , body = '']) => body);
}

function manifestsIn(file: string, source: string): readonly DocumentedManifest['manifest'][] {
  return parseAllDocuments(source).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${file}: ${error.message}`, { cause: error });
    const value: unknown = document.toJS();
    return isManifest(value) ? [value] : [];
  });
}

/** Other YAML, values of the chart for instance, is no object of the API. */
function isManifest(value: unknown): value is DocumentedManifest['manifest'] {
  return typeof value === 'object' && value !== null && 'apiVersion' in value && 'kind' in value;
}
