/**
 * Resources that a user wrote, as files: finds, writes and removes one. A file is edited in place, with its comments and other content, and
 * replaced as a whole.
 */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isMap, type Document } from 'yaml';
import { EarshotError } from '../../errors/earshot-error.ts';
import { hasCode, remedyOf } from '../../files/errno.ts';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { resourceFileName, type NamespaceLayout } from './layout.ts';
import type { Manifest, Written } from '../resources.ts';
import { isRecord } from '../../text/is-record.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { parseDocuments, readDocument } from '../../text/yaml.ts';

interface WrittenInFile extends Written {
  readonly path: string;
  readonly documents: readonly Document.Parsed[];
  /** Index in `documents`. */
  readonly index: number;
}

/** Lists all resources in the user's files and from redeemed tokens. Files that are not YAML are left out. */
export async function writtenResources(layout: NamespaceLayout): Promise<readonly WrittenInFile[]> {
  const found: WrittenInFile[] = [];
  for (const folder of [layout.input.resources, layout.internal.links]) {
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      const documents = (await documentsOf(path)) ?? [];
      for (const [index, document] of documents.entries()) {
        const { value: manifest } = readDocument(document);
        if (!isManifest(manifest)) continue;
        // The running process creates the Link from the token of the same name. If a token has several Links, none has its name.
        const { tlsCredentials = manifest.metadata.name } = manifest.spec ?? {};
        const isNamesake = manifest.kind === 'Link' && tlsCredentials === manifest.metadata.name;
        const created = folder === layout.internal.links && name === `Link-${manifest.metadata.name}.yaml` && isNamesake;
        const createdFrom = created ? ({ kind: 'AccessToken', name: manifest.metadata.name } as const) : undefined;
        found.push({ manifest, location: relative(layout.root, path), ...(createdFrom && { createdFrom }), path, documents, index });
      }
    }
  }
  return found;
}

export async function findWritten(layout: NamespaceLayout, kind: string, name: string): Promise<WrittenInFile | undefined> {
  return (await writtenResources(layout)).find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name);
}

/** Writes the resource to the file that already defines it, or to a file of its own. */
export async function putManifest(layout: NamespaceLayout, desired: Manifest): Promise<'created' | 'changed' | 'unchanged'> {
  const { kind, metadata } = desired;
  const found = await findWritten(layout, kind, metadata.name);
  if (found === undefined) {
    const path = join(layout.input.resources, resourceFileName(kind, metadata.name));
    if ((await documentsOf(path)) === undefined)
      throw new EarshotError('failed', `${path} is not YAML; correct or delete it, and try again.`);
    await makeDirectory(layout.input.resources, 0o755);
    await writeInput(path, writeYaml(desired), kind);
    return 'created';
  }
  const document = found.documents[found.index];
  if (document === undefined || isDeepStrictEqual(found.manifest, desired)) return 'unchanged';
  for (const [key, value] of Object.entries(desired)) editField(document, [key], found.manifest[key], value);
  for (const key of Object.keys(found.manifest)) if (!(key in desired)) document.delete(key);
  await writeInput(found.path, found.documents.map(String).join(''), kind);
  return 'changed';
}

/** @returns whether the resource existed */
export async function removeManifest(layout: NamespaceLayout, kind: string, name: string): Promise<boolean> {
  const found = await findWritten(layout, kind, name);
  if (found === undefined) return false;
  const rest = found.documents.filter((document, index) => index !== found.index && document.contents !== null);
  if (rest.length === 0) await removeFile(found.path).catch((error: unknown) => refuse(found.path, 'removed', error));
  else await writeInput(found.path, rest.map(String).join(''), kind);
  return true;
}

const writeInput = (path: string, text: string, kind: string): Promise<void> =>
  writeDurably(path, text, modeOf(kind)).catch((error: unknown) => refuse(path, 'written', error));

function refuse(path: string, done: string, error: unknown): never {
  throw new EarshotError('failed', `${path} cannot be ${done} ${remedyOf(error, done)}.`, error);
}

/** Changes only the differences between two maps, so that comments elsewhere are kept. */
function editField(document: Document.Parsed, path: readonly string[], before: unknown, after: unknown): void {
  if (isDeepStrictEqual(before, after)) return;
  if (!isRecord(before) || !isRecord(after) || !isMap(document.getIn(path, true))) {
    document.setIn(path, after);
    return;
  }
  for (const [key, value] of Object.entries(after)) editField(document, [...path, key], before[key], value);
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) document.deleteIn([...path, key]);
}

/** Files with codes and keys are readable by this user only. */
function modeOf(kind: string): number {
  return kind === 'AccessToken' || kind === 'AccessGrant' || kind === 'Secret' ? 0o600 : 0o644;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => /^[^.#].*\.(ya?ml|json)$/.test(name)).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    refuse(folder, 'read', error);
  }
}

/** @returns an empty list if the file does not exist; undefined if it is not YAML */
async function documentsOf(path: string): Promise<readonly Document.Parsed[] | undefined> {
  const text = await readText(path, { bytes: 512 * 1024 }).catch(() => 'not: [readable');
  if (text === undefined) return [];
  try {
    const documents = parseDocuments(text);
    return documents.some((document) => readDocument(document).problem !== undefined) ? undefined : documents;
  } catch {
    return undefined;
  }
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
