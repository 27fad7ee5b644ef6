import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';

import { readSetting } from './connection.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseYaml } from '../../text/yaml.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A cluster, user or context, and the file that contains it. Paths in it are relative to that file. */
export interface Entry {
  readonly fields: Fields;
  readonly path: string;
}

/** Merged kubeconfig files (client.config v1). The first file that has an entry provides it as a whole. */
export interface Kubeconfig {
  /** Name in messages. */
  readonly name: string;
  readonly currentContext: string | undefined;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
}

/** The existing files that kubectl would read: those in `KUBECONFIG`, else `~/.kube/config`. */
export function kubeconfigFiles(environment: Readonly<Record<string, string | undefined>>, home: string): readonly string[] {
  const listed = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const paths = listed.length > 0 ? [...new Set(listed.map((path) => resolve(path)))] : home === '' ? [] : [join(home, '.kube', 'config')];
  return paths.filter((path) => existsSync(path));
}

/** @throws EarshotError `kube-config` */
export async function readKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const files = await Promise.all(paths.map(async (path) => ({ path, document: await readDocument(path) })));
  const entries = (list: string, inner: string): ReadonlyMap<string, Entry> => {
    const found = files.flatMap(({ path, document }) =>
      entriesOf(document, list, inner).map(([name, fields]) => [name, { fields, path }] as const),
    );
    return new Map(found.toReversed());
  };
  return {
    name: paths.join(delimiter),
    currentContext: files.map(({ path, document }) => optionalText(document, 'current-context', path)).find((name) => name !== undefined),
    contexts: entries('contexts', 'context'),
    clusters: entries('clusters', 'cluster'),
    users: entries('users', 'user'),
  };
}

export function optionalText(fields: Fields, field: string, path: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new EarshotError('kube-config', `${path}: ${field} must be a string.`);
  return value;
}

/** @param file path as written in the entry */
export function besideEntry({ path }: Entry, file: string): string {
  return resolve(dirname(path), file);
}

async function readDocument(path: string): Promise<Fields> {
  const text = await readSetting(path);
  const [parsed = {}, ...more] = parse(text, path);
  if (!isRecord(parsed) || more.length > 0)
    throw new EarshotError('kube-config', `${path} is not a kubeconfig: it must contain one mapping.`);
  return parsed;
}

function parse(text: string, path: string): readonly unknown[] {
  try {
    return parseYaml(text);
  } catch (cause) {
    throw new EarshotError('kube-config', `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`, cause);
  }
}

function entriesOf(document: Fields, list: string, inner: string): readonly (readonly [string, Fields])[] {
  const entries = document[list];
  return (Array.isArray(entries) ? entries : [])
    .filter(isRecord)
    .flatMap(({ name, [inner]: fields }) => (typeof name === 'string' && isRecord(fields) ? [[name, fields] as const] : []));
}
