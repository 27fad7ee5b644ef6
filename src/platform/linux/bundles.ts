/** TLS bundles that lie in directories: `NAME/{tls.crt,tls.key,ca.crt}`. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { readBundle } from '../../trust/disk/bundle-files.ts';
import type { TlsBundle } from '../../router/contract.ts';
import { hasCode } from '../../files/errno.ts';
import { isResourceName } from './layout.ts';

export interface BundleFolder {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Why one cannot be read, by name. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** The directories to watch. */
  readonly directories: readonly string[];
}

const limits = { bundles: 2000 };

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
      unreadable.set(name, error instanceof Error ? error.message : String(error));
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
  const bundle = await readBundle(directory, name);
  return bundle.cert === undefined && bundle.key === undefined && bundle.ca === undefined ? undefined : bundle;
}
