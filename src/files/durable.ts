/** Reading what others wrote, within bounds; writing so that a crash or a full disk leaves the old file or the new one. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, realpath, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { hasCode, PlatformError } from '../platform/linux/errors.ts';

export interface ReadLimits {
  readonly bytes: number;
  /** A link may not lead out of this directory. Left out: links are followed anywhere. */
  readonly within?: string;
}

/** @returns the text of a regular file; undefined where there is none. @throws PlatformError */
export async function readText(path: string, limits: ReadLimits): Promise<string | undefined> {
  try {
    const target = limits.within === undefined ? path : await confined(path, limits.within);
    // A pipe in the file's place must not hold us up.
    await using handle = await open(target, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile())
      throw new PlatformError('file-kind', `${path} is ${found.isDirectory() ? 'a directory' : 'no regular file'}; put a file there.`);
    if (found.size > limits.bytes) throw tooBig(path, limits.bytes);
    // The size may have grown since, so it is the read that is bounded.
    const buffer = Buffer.alloc(Math.min(limits.bytes, found.size + 4096) + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    if (length > limits.bytes) throw tooBig(path, limits.bytes);
    return decode(path, buffer.subarray(0, length));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (error instanceof PlatformError) throw error;
    const remedy = hasCode(error, 'EACCES', 'EPERM')
      ? 'the user that runs Earshot must be allowed to read it'
      : hasCode(error, 'ELOOP')
        ? 'its links lead in a circle'
        : hasCode(error, 'EIO')
          ? 'the disk reports an error'
          : 'look at the file';
    throw new PlatformError('file-unreadable', `${path} cannot be read: ${remedy} (${codeOf(error)}).`, error);
  }
}

async function confined(path: string, within: string): Promise<string> {
  const [target, root] = await Promise.all([realpath(path), realpath(within)]);
  if (target.startsWith(root + sep)) return target;
  throw new PlatformError('file-outside', `${path} is a link to ${target}, which is outside ${within}; copy the file instead.`);
}

function decode(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new PlatformError('file-encoding', `${path} is not UTF-8 text; save it as UTF-8.`, error);
  }
}

function tooBig(path: string, limit: number): PlatformError {
  return new PlatformError('file-too-big', `${path} has more than ${limit} bytes; split it into several files.`);
}

/** The parts of the file system that `writeDurably` uses, so that a test can make them fail. */
export interface WriteLayer {
  readonly open: typeof open;
  readonly rename: typeof rename;
}

/**
 * Writes the whole file anew: into a hidden file beside it, synced, renamed over it, and the directory synced. Whoever
 * reads sees the old content or the new. The hidden file goes when any of it fails.
 */
export async function writeDurably(path: string, text: string, mode: number, layer: WriteLayer = { open, rename }): Promise<void> {
  const folder = dirname(path);
  const draft = join(folder, `.${basename(path).slice(0, 200)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    {
      await using handle = await layer.open(draft, 'wx', mode);
      // open's mode is cut by the umask.
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    }
    await layer.rename(draft, path);
  } catch (error) {
    await unlink(draft).catch(() => {});
    throw error;
  }
  await using parent = await layer.open(folder, 'r');
  await parent.sync();
}

/** Makes the directory with its parents; the mode holds for those that are new. */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  await mkdir(path, { recursive: true, mode });
}

/** Removes a file that may be gone already. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
