import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, symlink, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { TrustError } from '../errors.ts';

/**
 * The few things that this room does to files. Each is one step: what stands on disk between two of them is what a crash
 * leaves, and the tests try all of those.
 */
export interface Disk {
  /** Undefined where there is no such file. */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Empty where there is no such directory. */
  names(directory: string): Promise<readonly string[]>;
  /** With its parents, for this user alone. */
  makeDirectory(path: string): Promise<void>;
  /** A new file, for this user alone, its bytes on disk. */
  create(path: string, bytes: Uint8Array): Promise<void>;
  /** One more line, on disk. A last line without its end, which a crash has left, is cut off first. */
  appendLine(path: string, line: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  link(text: string, path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes new names in it last. */
  syncDirectory(path: string): Promise<void>;
}

export const realDisk: Disk = {
  async read(path, maxBytes) {
    try {
      // A pipe in this place would otherwise hold the process until someone writes to it.
      await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = await file.stat();
      if (!stats.isFile()) throw new TrustError('state-unavailable', `${path} is no file: put a regular file there`);
      if (stats.size > maxBytes) {
        throw new TrustError('state-unavailable', `${path} has ${stats.size} bytes, more than the ${maxBytes} that it may have`);
      }
      return await readFully(file, Buffer.alloc(stats.size));
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw unavailable(path, 'read', error);
    }
  },

  async names(directory) {
    try {
      return await readdir(directory);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw unavailable(directory, 'read', error);
    }
  },

  makeDirectory: (path) =>
    naming(path, 'made', async () => {
      await mkdir(path, { recursive: true, mode: 0o700 });
    }),

  create: (path, bytes) =>
    naming(path, 'written', async () => {
      await using file = await open(path, 'wx', 0o600);
      await file.writeFile(bytes);
      await file.sync();
    }),

  appendLine: (path, line) =>
    naming(path, 'written', async () => {
      await using file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
      const { size } = await file.stat();
      const whole = await endOfLastLine(file, size);
      if (whole < size) await file.truncate(whole);
      const bytes = Buffer.from(`${line}\n`);
      for (let written = 0; written < bytes.length;) {
        written += (await file.write(bytes, written, bytes.length - written, whole + written)).bytesWritten;
      }
      await file.sync();
    }),

  rename: (from, to) => naming(to, 'replaced', () => rename(from, to)),
  link: (text, path) => naming(path, 'linked', () => symlink(text, path)),
  remove: (path) =>
    naming(path, 'removed', async () => {
      await unlink(path).catch(ignoreAbsent);
    }),

  syncDirectory: (path) =>
    naming(path, 'synced', async () => {
      await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
      await directory.sync();
    }),
};

type OpenFile = Awaited<ReturnType<typeof open>>;

async function readFully(file: OpenFile, buffer: Buffer): Promise<Buffer> {
  let bytesRead = 0;
  while (bytesRead < buffer.length) {
    const step = await file.read(buffer, bytesRead, buffer.length - bytesRead, bytesRead);
    if (step.bytesRead === 0) break;
    bytesRead += step.bytesRead;
  }
  return buffer.subarray(0, bytesRead);
}

/** Lines of ours are far shorter. */
const MAX_LINE_BYTES = 4_096;

async function endOfLastLine(file: OpenFile, size: number): Promise<number> {
  const tail = Buffer.alloc(Math.min(size, MAX_LINE_BYTES));
  await file.read(tail, 0, tail.length, size - tail.length);
  const end = tail.lastIndexOf(0x0a);
  if (end === -1 && size > MAX_LINE_BYTES) return size;
  return size - tail.length + end + 1;
}

/** The new content or the old one, whatever happens. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const temporary = temporaryFor(path);
  try {
    await disk.create(temporary, bytes);
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.remove(temporary).catch(() => {});
    throw error;
  }
  await disk.syncDirectory(dirname(path));
}

export const temporaryFor = (path: string): string => join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);

/** What a crash has left of `replaceFile`. Only for who has the directory, or the file, to itself. */
export async function removeTemporaries(disk: Disk, directory: string, file?: string): Promise<void> {
  for (const name of await disk.names(directory)) {
    const [, of] = /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(name) ?? [];
    if (of !== undefined && (file === undefined || of === file)) await disk.remove(join(directory, name));
  }
}

async function naming(path: string, done: string, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    throw unavailable(path, done, error);
  }
}

function unavailable(path: string, done: string, error: unknown): TrustError {
  if (error instanceof TrustError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return new TrustError('state-unavailable', `${path} cannot be ${done}: ${remedies.get(code) ?? code}`, error);
}

const remedies = new Map([
  ['EACCES', 'permission denied (EACCES): it must belong to the user that runs earshot'],
  ['EPERM', 'not permitted (EPERM): it must belong to the user that runs earshot'],
  ['ENOSPC', 'the disk is full (ENOSPC): make room'],
  ['EDQUOT', "the user's disk quota is used up (EDQUOT): make room"],
  ['EROFS', 'the file system is read-only (EROFS)'],
  ['EISDIR', 'it is a directory (EISDIR): put a regular file there'],
  ['ENOTDIR', 'a part of its path is a file (ENOTDIR)'],
  ['ELOOP', 'its symbolic links lead in a circle (ELOOP)'],
  ['ENXIO', 'it is a socket or a pipe (ENXIO): put a regular file there'],
  ['EIO', 'the disk reports an error (EIO)'],
]);

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean => {
  const at = error instanceof TrustError ? error.cause : error;
  return at instanceof Error && 'code' in at && codes.includes(String(at.code));
};

function ignoreAbsent(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error;
}
