import { constants } from 'node:fs';
import { open, readdir, rename, symlink, unlink, type FileHandle } from 'node:fs/promises';
import { hasCode } from './errno.ts';
import { FileError } from './errors.ts';
import { createDirectory, createEmpty, createFile } from './owner.ts';
import { isRoot, securePath } from './secure-path.ts';

/**
 * File operations on our own files. Each is one step: a crash between two steps leaves a state that tests cover. They reject with
 * the system's own errors.
 */
export interface Disk {
  /**
   * Undefined if the file does not exist.
   * @throws FileError if it is not a file or has more than `maxBytes`
   */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /**
   * Reads a file of any length line by line; lines longer than `most` bytes are truncated. Yields nothing if the file does not
   * exist.
   */
  lines(path: string, most: number): AsyncIterable<Line>;
  /** Empty if the directory does not exist. */
  names(directory: string): Promise<readonly string[]>;
  /** Creates a directory and its parents, accessible only to this user. */
  makeDirectory(path: string): Promise<void>;
  /** Creates a file and syncs its content to disk. The mode is independent of the umask. Root gives it to the directory's owner. */
  create(path: string, bytes: Content, mode: number): Promise<void>;
  /**
   * Appends a line and syncs it. An incomplete last line left by a crash is removed first. If it is too long for one of our
   * lines, it is terminated instead.
   */
  appendLine(path: string, line: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  link(text: string, path: string): Promise<void>;
  /** No-op if absent. */
  remove(path: string): Promise<void>;
  /** Makes new names in the directory durable. */
  syncDirectory(path: string): Promise<void>;
}

/** Content as one value or in pieces. */
export type Content = string | Uint8Array | AsyncIterable<string>;

export interface Line {
  /** The line without its terminator. */
  readonly text: string;
  /** False for an unterminated last line, which a crash may leave. */
  readonly isWhole: boolean;
}

export const realDisk: Disk = {
  async read(path, maxBytes) {
    await using file = await openIfThere(path);
    return file === undefined ? undefined : await readAll(file, path, maxBytes);
  },
  lines: readLines,
  async names(directory) {
    try {
      return await readdir(directory);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  },
  async makeDirectory(path) {
    await createDirectory(path, 0o700);
  },
  async create(path, bytes, mode) {
    await using file = await createFile(path, mode);
    await file.chmod(mode);
    await file.writeFile(bytes);
    await file.sync();
  },
  async appendLine(path, line) {
    createEmpty(path, 0o600);
    using place = securePath(path);
    // Another user's link would let root append to any file.
    await using file = await open(place.path, constants.O_RDWR | constants.O_CREAT | (isRoot ? constants.O_NOFOLLOW : 0), 0o600);
    const { size } = await file.stat();
    const whole = await endOfLastLine(file, size);
    if (whole !== undefined && whole < size) await file.truncate(whole);
    const bytes = Buffer.from(`${whole === undefined ? '\n' : ''}${line}\n`);
    const start = whole ?? size;
    for (let written = 0; written < bytes.length;) {
      written += (await file.write(bytes, written, bytes.length - written, start + written)).bytesWritten;
    }
    await file.sync();
  },
  async rename(from, to) {
    using source = securePath(from);
    using target = securePath(to);
    await rename(source.path, target.path);
  },
  async link(text, path) {
    using place = securePath(path);
    await symlink(text, place.path);
  },
  async remove(path) {
    try {
      using place = securePath(path);
      await unlink(place.path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  },
  async syncDirectory(path) {
    await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    await directory.sync();
  },
};

async function readAll(file: FileHandle, path: string, maxBytes: number): Promise<Buffer> {
  const stats = await file.stat();
  if (!stats.isFile()) {
    throw new FileError('file-kind', `${path} is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}; put a file there`);
  }
  // The file may have grown since, so the read itself is bounded.
  const buffer = Buffer.alloc(Math.min(maxBytes, stats.size + 4_096) + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length > maxBytes) {
    throw new FileError('file-too-big', `${path} has more than the permitted ${maxBytes} bytes; make it smaller, or split it`);
  }
  return buffer.subarray(0, length);
}

async function* readLines(path: string, most: number): AsyncGenerator<Line> {
  await using file = await openIfThere(path);
  if (file === undefined) return;
  const chunk = Buffer.alloc(65_536);
  let line: Buffer[] = [];
  let length = 0;
  const take = (bytes: Buffer): void => {
    // A copy, because the next read reuses the buffer.
    if (length < most) line.push(Buffer.from(bytes.subarray(0, most - length)));
    length += bytes.length;
  };
  const text = (): string => Buffer.concat(line).toString('utf8');
  for (let read = await file.read(chunk); read.bytesRead > 0; read = await file.read(chunk)) {
    let rest = chunk.subarray(0, read.bytesRead);
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      take(rest.subarray(0, end));
      yield { text: text(), isWhole: true };
      [line, length] = [[], 0];
      rest = rest.subarray(end + 1);
    }
    take(rest);
  }
  if (length > 0) yield { text: text(), isWhole: false };
}

const LINE_FEED = 0x0a;

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    // O_NONBLOCK: opening a pipe would otherwise block until something writes to it.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Maximum length of a line; ours are far shorter. */
const MAX_LINE_BYTES = 4_096;

/** @returns undefined if the last line is too long to be ours: it is not removed */
async function endOfLastLine(file: FileHandle, size: number): Promise<number | undefined> {
  const tail = Buffer.alloc(Math.min(size, MAX_LINE_BYTES));
  await file.read(tail, 0, tail.length, size - tail.length);
  const end = tail.lastIndexOf(LINE_FEED);
  if (end === -1 && size > MAX_LINE_BYTES) return undefined;
  return size - tail.length + end + 1;
}
