/**
 * Ownership of new files. A service with its own user must be able to use what root's commands create in its directories, so root
 * gives each new file and directory to the owner of its parent directory.
 */
import { closeSync, constants, fchownSync, fstatSync, openSync } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from './errno.ts';

const isRoot = process.getuid?.() === 0;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

/** Creates a file. Rejects with the system's error, also if it exists. */
export async function createFile(path: string, mode: number): Promise<FileHandle> {
  if (!isRoot) return open(path, 'wx', mode);
  await using parent = await open(dirname(path), DIRECTORY);
  const file = await open(pathIn(parent.fd, path), 'wx', mode);
  giveToOwner(file.fd, parent.fd);
  return file;
}

/** Creates an empty file, if it does not exist and can be created. It opens no existing file: closing it would end this process's POSIX locks. */
export function createEmpty(path: string, mode: number): void {
  let parent: number | undefined;
  try {
    parent = openSync(dirname(path), DIRECTORY);
    const file = openSync(pathIn(parent, path), 'wx', mode);
    giveToOwner(file, parent);
    closeSync(file);
  } catch {
    // The caller opens the file next, and reports why it cannot.
  } finally {
    if (parent !== undefined) closeSync(parent);
  }
}

/** Creates a directory with its parents; the mode applies to new ones. Rejects with the system's error. */
export async function createDirectory(path: string, mode: number): Promise<void> {
  if (!isRoot || dirname(path) === path) return void (await mkdir(path, { recursive: true, mode }));
  await using parent = await openParent(path, mode);
  try {
    await mkdir(pathIn(parent.fd, path), { mode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    // Succeeds for a directory, or a link to one.
    return void (await mkdir(path, { recursive: true, mode }));
  }
  await using created = await open(pathIn(parent.fd, path), DIRECTORY | constants.O_NOFOLLOW);
  giveToOwner(created.fd, parent.fd);
}

async function openParent(path: string, mode: number): Promise<FileHandle> {
  try {
    return await open(dirname(path), DIRECTORY);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await createDirectory(dirname(path), mode);
    return open(dirname(path), DIRECTORY);
  }
}

/** The path below the open directory, so that its owner cannot redirect root by a link in its place (proc_pid_fd(5)). Root's own need no procfs. */
function pathIn(parent: number, path: string): string {
  return fstatSync(parent).uid === 0 ? path : join(`/proc/self/fd/${parent}`, basename(path));
}

function giveToOwner(file: number, parent: number): void {
  const { uid, gid } = fstatSync(parent);
  if (!isRoot || uid === 0) return;
  try {
    fchownSync(file, uid, gid);
  } catch {
    // Root of a container may have no right to change owners. The file then stays root's.
  }
}
