import { randomBytes } from 'node:crypto';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import type { Disk } from '../../files/disk.ts';
import { hasCode, remedyOf } from '../../files/errno.ts';
import { removeTree } from '../../files/secure-path.ts';
import { realDisk } from './disk.ts';
import { TrustError } from '../errors.ts';

/** File names as in Secrets of type `kubernetes.io/tls`. */
export const BUNDLE_FILES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;
type Part = keyof typeof BUNDLE_FILES;
const PARTS: readonly Part[] = ['cert', 'key', 'ca'];
const MAX_BYTES = 1_048_576;
/** Symbolic link to the current generation of files, as the kubelet uses for Secrets. Hidden, so that it is not taken for a bundle. */
const CURRENT = '..data';

/** Reads those of `tls.crt`, `tls.key` and `ca.crt` that exist in a directory, all from the same generation if it has generations. */
export async function readBundle(directory: string, name: string, disk: Disk = realDisk): Promise<TlsBundle> {
  // A generation may be removed during the read, once the next one is current. Read again then.
  for (let tries = 0; tries < 10; tries += 1) {
    const before = await currentOf(directory);
    const bundle = await readFiles(before === undefined ? directory : join(directory, before), name, disk);
    if ((await currentOf(directory)) === before) return bundle;
  }
  throw new TrustError('state-unavailable', `${directory} changes faster than it can be read: find out what writes there`);
}

async function readFiles(directory: string, name: string, disk: Disk): Promise<TlsBundle> {
  const texts: { cert?: string; key?: string; ca?: string } = {};
  for (const part of PARTS) {
    const bytes = await disk.read(join(directory, BUNDLE_FILES[part]), MAX_BYTES);
    if (bytes !== undefined) texts[part] = bytes.toString('utf8');
  }
  return { name, ...texts };
}

async function currentOf(directory: string): Promise<string | undefined> {
  try {
    const text = await readlink(join(directory, CURRENT));
    return /^\.\.[^/]+$/.test(text) && text !== CURRENT ? text : undefined;
  } catch (error) {
    // There is no such symbolic link, or no such directory.
    if (hasCode(error, 'ENOENT', 'EINVAL', 'ENOTDIR')) return undefined;
    throw new TrustError('state-unavailable', `${directory} cannot be read ${remedyOf(error, 'read')}`, error);
  }
}

/**
 * Replaces the bundle's files atomically: writes a new generation `..RANDOM`, then renames the symbolic link `..data`. `tls.crt`, `tls.key`
 * and `ca.crt` are links through `..data`. So after a crash, or during a read, either all old or all new files are visible.
 */
export async function writeBundle(directory: string, bundle: TlsBundle, disk: Disk = realDisk): Promise<void> {
  const generation = `..${randomBytes(8).toString('hex')}`;
  const parts = await createParts(join(directory, generation), bundle, disk);
  const prepared = `${generation}.link`;
  await disk.link(generation, join(directory, prepared));
  await disk.rename(join(directory, prepared), join(directory, CURRENT));
  await pointAt(directory, parts, disk);
  await disk.syncDirectory(directory);
  await removeOthers(directory, generation, disk);
}

/** Writes the bundle's files into a directory of their own. @returns the parts that the bundle has */
export async function createParts(directory: string, bundle: TlsBundle, disk: Disk): Promise<readonly Part[]> {
  await disk.makeDirectory(directory);
  const parts = PARTS.filter((part) => bundle[part] !== undefined);
  for (const part of parts) await disk.create(join(directory, BUNDLE_FILES[part]), bundle[part] ?? '', 0o600);
  await disk.syncDirectory(directory);
  return parts;
}

async function pointAt(directory: string, parts: readonly Part[], disk: Disk): Promise<void> {
  for (const part of PARTS) {
    const path = join(directory, BUNDLE_FILES[part]);
    const target = `${CURRENT}/${BUNDLE_FILES[part]}`;
    const there = await readlink(path).catch(() => undefined);
    if (!parts.includes(part)) await disk.remove(path);
    else if (there !== target) {
      const prepared = join(directory, `..${randomBytes(8).toString('hex')}.link`);
      await disk.link(target, prepared);
      await disk.rename(prepared, path);
    }
  }
}

async function removeOthers(directory: string, generation: string, disk: Disk): Promise<void> {
  for (const name of await disk.names(directory)) {
    if (!/^\.\.[0-9a-f]{16}(?:\.link)?$/.test(name) || name === generation) continue;
    await removeTree(join(directory, name));
  }
}
