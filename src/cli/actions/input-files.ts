/**
 * The resources that a person wrote, as files: finds one, puts one, removes one. A file is edited where it stands, with its
 * comments and whatever else it holds, and replaced as a whole.
 */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isMap, parseAllDocuments, stringify, type Document } from 'yaml';
import { API_VERSION } from '../../api/skupper/names.ts';
import { hasCode } from '../../files/errno.ts';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { resourceFileName, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { guardYaml } from '../../platform/linux/yaml-guard.ts';
import { CliError } from '../errors.ts';

/** A resource as it is written, before anything is checked. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface Defined {
  readonly path: string;
  /** Below the namespace's directory. */
  readonly file: string;
  readonly manifest: Manifest;
  readonly documents: readonly Document.Parsed[];
  /** Which of them. */
  readonly index: number;
}

export function manifest(kind: string, name: string, spec: Readonly<Record<string, unknown>>): Manifest {
  return { apiVersion: API_VERSION, kind, metadata: { name }, spec };
}

/** All resources in the person's own files; those of tokens that were redeemed are among them. Files that are no YAML are left out. */
export async function definedResources(layout: NamespaceLayout): Promise<readonly Defined[]> {
  const found: Defined[] = [];
  for (const folder of [layout.input.resources, layout.internal.links]) {
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      const documents = await documentsOf(path);
      for (const [index, document] of (documents ?? []).entries()) {
        const value = toManifest(document);
        if (value !== undefined)
          found.push({ path, file: relative(layout.root, path), manifest: value, documents: documents ?? [], index });
      }
    }
  }
  return found;
}

export async function findDefined(layout: NamespaceLayout, kind: string, name: string): Promise<Defined | undefined> {
  return (await definedResources(layout)).find((found) => found.manifest.kind === kind && found.manifest.metadata.name === name);
}

/** Writes the resource where it is defined already, or into a file of its own. */
export async function putManifest(layout: NamespaceLayout, wanted: Manifest): Promise<'created' | 'changed' | 'unchanged'> {
  const { kind, metadata } = wanted;
  const found = await findDefined(layout, kind, metadata.name);
  if (found === undefined) {
    const path = join(layout.input.resources, resourceFileName(kind, metadata.name));
    if ((await documentsOf(path)) === undefined)
      throw new CliError('failed', `${path} is there and is no YAML; mend or remove it, and try again.`);
    await makeDirectory(layout.input.resources, 0o755);
    await writeDurably(path, stringify(wanted), modeOf(kind));
    return 'created';
  }
  const document = found.documents[found.index];
  if (document === undefined || isDeepStrictEqual(found.manifest, wanted)) return 'unchanged';
  for (const [key, value] of Object.entries(wanted)) editField(document, [key], found.manifest[key], value);
  for (const key of Object.keys(found.manifest)) if (!(key in wanted)) document.delete(key);
  await writeDurably(found.path, found.documents.map(String).join(''), modeOf(kind));
  return 'changed';
}

/** @returns whether it was there */
export async function removeManifest(layout: NamespaceLayout, kind: string, name: string): Promise<boolean> {
  const found = await findDefined(layout, kind, name);
  if (found === undefined) return false;
  const rest = found.documents.filter((document, index) => index !== found.index && document.contents !== null);
  if (rest.length === 0) await removeFile(found.path);
  else await writeDurably(found.path, rest.map(String).join(''), modeOf(kind));
  return true;
}

/** Where both are maps, only what differs is touched: comments beside the rest stay. */
function editField(document: Document.Parsed, path: readonly string[], before: unknown, after: unknown): void {
  if (isDeepStrictEqual(before, after)) return;
  if (!isRecord(before) || !isRecord(after) || !isMap(document.getIn(path, true))) {
    document.setIn(path, after);
    return;
  }
  for (const [key, value] of Object.entries(after)) editField(document, [...path, key], before[key], value);
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) document.deleteIn([...path, key]);
}

/** Codes and keys are for this user alone. */
function modeOf(kind: string): number {
  return kind === 'AccessToken' || kind === 'AccessGrant' || kind === 'Secret' ? 0o600 : 0o644;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => /^[^.#].*\.(ya?ml|json)$/.test(name)).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw new CliError('failed', `${folder} cannot be read; look at who owns it.`, error);
  }
}

/** @returns empty where there is no file; undefined where it is not YAML */
async function documentsOf(path: string): Promise<readonly Document.Parsed[] | undefined> {
  const text = await readText(path, { bytes: 512 * 1024 }).catch(() => 'not: [readable');
  if (text === undefined) return [];
  if (guardYaml(text) !== undefined) return undefined;
  const documents = parseAllDocuments(text);
  return Array.isArray(documents) && documents.every(({ errors }) => errors.length === 0) ? documents : undefined;
}

function toManifest(document: Document.Parsed): Manifest | undefined {
  const value: unknown = document.toJS({ maxAliasCount: 50 });
  return isManifest(value) ? value : undefined;
}

export function isManifest(value: unknown): value is Manifest {
  return (
    isRecord(value) &&
    typeof value['apiVersion'] === 'string' &&
    typeof value['kind'] === 'string' &&
    isRecord(value['metadata']) &&
    typeof value['metadata']['name'] === 'string'
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
