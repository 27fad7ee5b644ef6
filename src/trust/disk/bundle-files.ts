import { randomBytes } from 'node:crypto';
import { readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import type { Disk } from '../../files/disk.ts';
import { hasCode, remedyOf } from '../../files/errno.ts';
import { realDisk } from './disk.ts';
import { TrustError } from '../errors.ts';

/** As in Secrets of the type `kubernetes.io/tls`. */
export const BUNDLE_FILES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;
type Part = keyof typeof BUNDLE_FILES;
const PARTS: readonly Part[] = ['cert', 'key', 'ca'];
const MAX_BYTES = 1_048_576;
/** The name under which one generation of files is current, as the kubelet does it for Secrets; hidden, so that nobody takes it for a bundle. */
const CURRENT = '..data';

/** Reads `tls.crt`, `tls.key` and `ca.crt` of a directory, those that are there: all of one generation where it has generations. */
export async function readBundle(directory: string, name: string, disk: Disk = realDisk): Promise<TlsBundle> {
  // A generation is removed when the next is there: then it is read again, and never twice for one change.
  for (let tries = 0; tries < 10; tries += 1) {
    const before = await currentOf(directory);
    const bundle = await readFiles(before === undefined ? directory : join(directory, before), name, disk);
    if ((await currentOf(directory)) === before) return bundle;
  }
  throw new TrustError('state-unavailable', `${directory} changes faster than it can be read: see what writes there`);
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
    // No link stands there, or nothing at all.
    if (hasCode(error, 'ENOENT', 'EINVAL', 'ENOTDIR')) return undefined;
    throw new TrustError('state-unavailable', `${directory} cannot be read ${remedyOf(error, 'read')}`, error);
  }
}

/**
 * Writes the bundle's files as one: a new generation `..RANDOM`, then one rename of the link `..data`, through which the
 * links `tls.crt`, `tls.key` and `ca.crt` lead. So a reader, and a crash, finds the old three or the new three.
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

/** Its files in a directory of their own. @returns those that it has */
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
    const wanted = `${CURRENT}/${BUNDLE_FILES[part]}`;
    const there = await readlink(path).catch(() => undefined);
    if (!parts.includes(part)) await disk.remove(path);
    else if (there !== wanted) {
      const prepared = join(directory, `..${randomBytes(8).toString('hex')}.link`);
      await disk.link(wanted, prepared);
      await disk.rename(prepared, path);
    }
  }
}

async function removeOthers(directory: string, generation: string, disk: Disk): Promise<void> {
  for (const name of await disk.names(directory)) {
    if (!/^\.\.[0-9a-f]{16}(?:\.link)?$/.test(name) || name === generation) continue;
    await rm(join(directory, name), { recursive: true, force: true });
  }
}
