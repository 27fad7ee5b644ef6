/** Reads untrusted files within limits, and writes files atomically: a crash or a full disk leaves the old or the new file. */
import { randomBytes } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { realDisk, type Content, type Disk } from './disk.ts';
import { hasCode, remedyOf } from './errno.ts';
import { FileError } from './errors.ts';
import { createDirectory, createFile } from './owner.ts';

export interface ReadLimits {
  readonly bytes: number;
  /** Directory that links must not lead out of. Default: links are followed anywhere. */
  readonly within?: string;
}

/**
 * @returns the text of a regular file, or undefined if it does not exist.
 * @throws FileError
 */
export async function readText(path: string, limits: ReadLimits): Promise<string | undefined> {
  try {
    const target = limits.within === undefined ? path : await confined(path, limits.within);
    const bytes = await realDisk.read(target, limits.bytes);
    return bytes === undefined ? undefined : decode(path, bytes);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (error instanceof FileError) throw error;
    throw new FileError('file-unreadable', `${path} cannot be read ${remedyOf(error, 'read')}`, error);
  }
}

/** Names in a directory; none if it does not exist. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

async function confined(path: string, within: string): Promise<string> {
  const [target, root] = await Promise.all([realpath(path), realpath(within)]);
  if (target.startsWith(root + sep)) return target;
  throw new FileError('file-outside', `${path} is a link to ${target}, which is outside ${within}; copy the file instead`);
}

function decode(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new FileError('file-encoding', `${path} is not UTF-8 text; save it as UTF-8`, error);
  }
}

/**
 * Replaces the whole file: writes a hidden file next to it, syncs it, renames it over the old one and syncs the directory.
 * Readers see the old or the new content. If a step fails, the hidden file is removed.
 */
export async function writeDurably(path: string, content: Content, mode: number, disk: Disk = realDisk): Promise<void> {
  const draft = draftFor(path);
  try {
    await disk.create(draft, content, mode);
    await disk.rename(draft, path);
  } catch (error) {
    await disk.remove(draft).catch(() => {});
    throw error;
  }
  await disk.syncDirectory(dirname(path));
}

/** Replaces the whole file without syncing it: after a crash of the machine it may be empty. Follows no link. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const draft = draftFor(path);
  try {
    await using file = await createFile(draft, mode);
    await file.writeFile(text);
    await realDisk.rename(draft, path);
  } catch (error) {
    await realDisk.remove(draft).catch(() => {});
    throw error;
  }
}

export const draftFor = (path: string): string =>
  join(dirname(path), `.${basename(path).slice(0, 200)}.${randomBytes(6).toString('hex')}.tmp`);

/**
 * The file or directory that a draft or a generation of a bundle belongs to. With its random name, a message would change each
 * time.
 */
export function pathInMessages(path: string): string {
  return path.replace(/\/\.\.[0-9a-f]{16}(?:\.link)?(?:\/[^/]*)?$/, '').replace(/\/\.([^/]+)\.[0-9a-f]{12}\.tmp$/, '/$1');
}

/** Removes drafts left by a crash. The caller must have exclusive access to the directory, or to the file. */
export async function removeDrafts(directory: string, disk: Disk, file?: string): Promise<void> {
  for (const name of await disk.names(directory)) {
    const [, of] = /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(name) ?? [];
    if (of !== undefined && (file === undefined || of === file)) await disk.remove(join(directory, name));
  }
}

/**
 * Creates the directory with its parents; the mode applies to new ones.
 * @throws FileError
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await createDirectory(path, mode);
  } catch (error) {
    if (error instanceof FileError) throw error;
    throw new FileError('failed', `${path} cannot be created ${remedyOf(error, 'created')}`, error);
  }
}

export const removeFile = (path: string): Promise<void> => realDisk.remove(path);
