/** TLS bundles that lie in directories: `NAME/{tls.crt,tls.key,ca.crt}`. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TlsBundle } from '../../router/contract.ts';
import { hasCode } from './errors.ts';
import { codeOf, readText } from './files.ts';
import { BUNDLE_FILES, isResourceName } from './layout.ts';

export interface BundleFolder {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Why one cannot be read, by name. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** The directories to watch. */
  readonly directories: readonly string[];
}

const limits = { bundles: 2000, fileBytes: 256 * 1024 };

/** Links may lead out of here: other programs keep certificates in their own places. */
export async function readBundles(folder: string): Promise<BundleFolder> {
  const bundles = new Map<string, TlsBundle>();
  const unreadable = new Map<string, string>();
  const directories: string[] = [folder];
  for (const name of await namesIn(folder)) {
    const directory = join(folder, name);
    try {
      const bundle = await readOne(directory, name);
      directories.push(directory);
      if (bundle !== undefined) bundles.set(name, bundle);
    } catch (error) {
      unreadable.set(name, error instanceof Error && 'code' in error && !hasCode(error, 'ENOTDIR') ? error.message : `${directory} is not a directory (${codeOf(error)}).`);
    }
  }
  return { bundles, unreadable, directories };
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      if (isResourceName(name)) names.push(name);
      if (names.length === limits.bundles) break;
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error;
  }
  return names.sort();
}

async function readOne(directory: string, name: string): Promise<TlsBundle | undefined> {
  const read = (file: string): Promise<string | undefined> => readText(join(directory, file), { bytes: limits.fileBytes });
  const [cert, key, ca] = await Promise.all([read(BUNDLE_FILES.cert), read(BUNDLE_FILES.key), read(BUNDLE_FILES.ca)]);
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  return { name, ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }), ...(ca === undefined ? {} : { ca }) };
}
