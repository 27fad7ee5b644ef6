/** Reads the files of the running process: resources with status, problems with files, and its own state. */
import { join } from 'node:path';
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { namesIn, readText } from '../../files/durable.ts';
import type { OfKind } from '../resources.ts';
import { resourceFileName, type NamespaceLayout } from './layout.ts';
import type { FileProblem } from './parse.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseWritten } from '../../text/yaml.ts';

const MOST_BYTES = 64 * 1024 * 1024;

/** @returns undefined if the file does not exist or has another kind of content */
export async function readRuntime<K extends SkupperKind>(layout: NamespaceLayout, kind: K, name: string): Promise<OfKind<K> | undefined> {
  const resource = await readResource(join(layout.runtime.resources, resourceFileName(kind, name)));
  return resource !== undefined && isOfKind(resource, kind) ? resource : undefined;
}

/** Sorted by name. */
export async function listRuntime<K extends SkupperKind>(layout: NamespaceLayout, kind: K): Promise<readonly OfKind<K>[]> {
  const names = (await namesIn(layout.runtime.resources)).filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.yaml')).sort();
  const resources = await Promise.all(names.map((name) => readResource(join(layout.runtime.resources, name))));
  return resources.filter((resource) => resource !== undefined).filter((resource) => isOfKind(resource, kind));
}

/** Returns the problems in the user's files, as of the last read of the running process. */
export async function readProblems(layout: NamespaceLayout): Promise<readonly FileProblem[]> {
  const value = await readYaml(layout.runtime.problems);
  const problems: unknown = isRecord(value) && 'problems' in value ? value.problems : value;
  return Array.isArray(problems) ? problems.filter(isFileProblem) : [];
}

async function readResource(path: string): Promise<SkupperResource | undefined> {
  const value = await readYaml(path);
  if (!isRecord(value) || !('kind' in value) || !('metadata' in value) || !isRecord(value.metadata)) return undefined;
  // The running process wrote the whole resource in these types. The file of an unreadable resource contains only the status.
  return { spec: {}, ...value } as SkupperResource;
}

function isOfKind<K extends SkupperKind>(resource: SkupperResource, kind: K): resource is OfKind<K> {
  return resource.kind === kind;
}

async function readYaml(path: string): Promise<unknown> {
  const text = await readText(path, { bytes: MOST_BYTES });
  if (text === undefined) return undefined;
  try {
    return parseWritten(text);
  } catch {
    return undefined;
  }
}

function isFileProblem(value: unknown): value is FileProblem {
  return isRecord(value) && 'file' in value && typeof value.file === 'string' && 'message' in value && typeof value.message === 'string';
}
