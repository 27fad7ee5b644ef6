/**
 * Ownership of new files. A service with its own user must be able to use what root's commands create in its directories, so root
 * gives each new file and directory to the owner of its parent directory.
 */
import { closeSync, constants, fchownSync, fstatSync, openSync } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { hasCode } from './errno.ts';
import { FileError } from './errors.ts';
import { isRoot, openDirectory, type OpenDirectory } from './secure-path.ts';

/** Creates a file. Rejects with the system's error, also if it exists. */
export async function createFile(path: string, mode: number): Promise<FileHandle> {
  if (!isRoot) return open(path, 'wx', mode);
  using parent = openDirectory(dirname(path));
  const file = await open(`${parent.place}/${basename(path)}`, 'wx', mode);
  giveToOwner(file.fd, parent);
  return file;
}

/** Creates an empty file, if it does not exist and can be created. It opens no existing file: closing it would end this process's POSIX locks. */
export function createEmpty(path: string, mode: number): void {
  try {
    if (!isRoot) return closeSync(openSync(path, 'wx', mode));
    using parent = openDirectory(dirname(path));
    const file = openSync(`${parent.place}/${basename(path)}`, 'wx', mode);
    giveToOwner(file, parent);
    closeSync(file);
  } catch {
    // The caller opens the file next, and reports why it cannot.
  }
}

/** Creates a directory with its parents; the mode applies to new ones. Rejects with the system's error. */
export async function createDirectory(path: string, mode: number): Promise<void> {
  if (!isRoot || dirname(path) === path) return void (await mkdir(path, { recursive: true, mode }));
  using parent = await openParent(path, mode);
  const place = `${parent.place}/${basename(path)}`;
  try {
    await mkdir(place, { mode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return requireDirectory(path, error);
  }
  await using created = await open(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  giveToOwner(created.fd, parent);
}

/** Accepts a directory, or a link to one that root may follow. @param otherwise thrown for anything else */
function requireDirectory(path: string, otherwise: unknown): void {
  try {
    openDirectory(path)[Symbol.dispose]();
  } catch (error) {
    throw error instanceof FileError ? error : otherwise;
  }
}

async function openParent(path: string, mode: number): Promise<OpenDirectory> {
  try {
    return openDirectory(dirname(path));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await createDirectory(dirname(path), mode);
    return openDirectory(dirname(path));
  }
}

function giveToOwner(file: number, { uid, fd }: OpenDirectory): void {
  if (uid === 0) return;
  try {
    fchownSync(file, uid, fstatSync(fd).gid);
  } catch {
    // Root of a container may have no right to change owners. The file then stays root's.
  }
}
