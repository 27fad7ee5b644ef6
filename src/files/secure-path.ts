/**
 * Paths for root in directories of other users. Their owner can replace a directory by a link at any time, and could so redirect what root
 * writes or removes. Root therefore opens each directory of a path, and addresses entries below the open one (proc_pid_fd(5)).
 */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { hasCode } from './errno.ts';
import { FileError } from './errors.ts';

export const isRoot = process.getuid?.() === 0;

/** An open directory. */
export interface OpenDirectory extends Disposable {
  readonly fd: number;
  /** Path that leads to this directory while it is open. */
  readonly place: string;
  /** User ID of the owner. */
  readonly uid: number;
}

/** A path that stays valid until disposal. */
export interface SecurePath extends Disposable {
  readonly path: string;
}

/** Of Linux; Node.js has no constant for it. Needs no right to list the directory, which root lacks in a container without capabilities. */
const O_PATH = 0o10000000;
const FLAGS = O_PATH | constants.O_DIRECTORY;
/** As for the kernel, see path_resolution(7). */
const MOST_LINKS = 40;

/** Throws the system's error, or FileError `file-outside`. */
export function securePath(path: string): SecurePath {
  if (!isRoot) return { path, [Symbol.dispose]: () => {} };
  const parent = openDirectory(dirname(path));
  return { path: `${parent.place}/${basename(path)}`, [Symbol.dispose]: () => parent[Symbol.dispose]() };
}

/**
 * Opens a directory. Links in directories of root are followed. A link of another user must lead to a directory of that user.
 * Throws the system's error, or FileError `file-outside`.
 */
export function openDirectory(path: string): OpenDirectory {
  const segments = segmentsOf(resolve(path));
  let at = opened(openSync('/', FLAGS), '/');
  try {
    for (let links = 0; ;) {
      const name = segments.shift();
      if (name === undefined) return at;
      let next = openEntry(at, name);
      if (next === undefined) {
        links += 1;
        const text = links > MOST_LINKS ? undefined : linkOfRoot(at, name);
        if (text === undefined) next = openLinked(at, name);
        else {
          segments.unshift(...segmentsOf(text));
          if (!text.startsWith('/')) continue;
          next = opened(openSync('/', FLAGS), '/');
        }
      }
      at[Symbol.dispose]();
      at = next;
    }
  } catch (error) {
    at[Symbol.dispose]();
    throw error;
  }
}

/** Path of a directory without links, as root may follow them. Undefined if it does not exist. */
export function realPath(path: string): string | undefined {
  try {
    if (!isRoot) return realpathSync(path);
    using directory = openDirectory(path);
    return pathOf(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Removes a file, or a directory with its content. Follows no link. No-op if absent. */
export async function removeTree(path: string): Promise<void> {
  if (!isRoot) return rm(path, { recursive: true, force: true });
  try {
    using parent = openDirectory(dirname(path));
    removeBelow(parent, basename(path));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function removeBelow(parent: OpenDirectory, name: string): void {
  if (isUnlinked(parent, name)) return;
  using directory = openEntry(parent, name);
  if (directory !== undefined) removeEntries(directory);
  rmdirSync(`${parent.place}/${name}`);
}

/**
 * Moves directories to the top, one level at a time: the owner may have nested more of them than a stack, a path or open files permit. An
 * entry that becomes a link in the meantime stays, so the caller cannot remove the directory.
 */
function removeEntries(top: OpenDirectory): void {
  const names = removeFiles(top);
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    using directory = openEntry(top, name);
    if (directory === undefined) continue;
    for (const inner of removeFiles(directory)) {
      const moved = `.${randomUUID()}`;
      renameSync(`${directory.place}/${inner}`, `${top.place}/${moved}`);
      names.push(moved);
    }
    rmdirSync(`${top.place}/${name}`);
  }
}

/** @returns names of the directories, which stay */
function removeFiles(directory: OpenDirectory): string[] {
  return readdirSync(directory.place).filter((name) => !isUnlinked(directory, name));
}

/** Removes an entry that is not a directory. @returns whether it does not exist any more */
function isUnlinked(parent: OpenDirectory, name: string): boolean {
  try {
    unlinkSync(`${parent.place}/${name}`);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return true;
    if (hasCode(error, 'EISDIR')) return false;
    throw error;
  }
}

const segmentsOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** @returns undefined for a symbolic link */
function openEntry(parent: OpenDirectory, name: string): OpenDirectory | undefined {
  const path = `${parent.place}/${name}`;
  try {
    return opened(openSync(path, FLAGS | constants.O_NOFOLLOW), join(parent.place, name), parent);
  } catch (error) {
    // Linux answers ENOTDIR for a link too, because of O_DIRECTORY.
    if (hasCode(error, 'ENOTDIR', 'ELOOP') && lstatSync(path).isSymbolicLink()) return undefined;
    throw error;
  }
}

/** Text of a link that only root can have made, and can replace. */
function linkOfRoot(parent: OpenDirectory, name: string): string | undefined {
  const path = `${parent.place}/${name}`;
  return parent.uid === 0 && lstatSync(path).uid === 0 ? readlinkSync(path) : undefined;
}

function openLinked(parent: OpenDirectory, name: string): OpenDirectory {
  const path = `${parent.place}/${name}`;
  const owner = parent.uid === 0 ? lstatSync(path).uid : parent.uid;
  const target = opened(openSync(path, FLAGS), undefined);
  if (owner !== 0 && target.uid === owner) return target;
  target[Symbol.dispose]();
  throw new FileError(
    'file-outside',
    `${join(pathOf(parent), name)} is a symbolic link of another user and leads out of that user's directories; remove it`,
  );
}

const isByDescriptor = ({ place }: OpenDirectory): boolean => place.startsWith('/proc/self/fd/');

const pathOf = (directory: OpenDirectory): string => (isByDescriptor(directory) ? readlinkSync(directory.place) : directory.place);

/** @param path its own path, if no other user can move it */
function opened(fd: number, path: string | undefined, parent?: OpenDirectory): OpenDirectory {
  const { uid } = fstatSync(fd);
  const isSteady = path !== undefined && uid === 0 && (parent === undefined || !isByDescriptor(parent));
  return { fd, uid, place: isSteady ? path : `/proc/self/fd/${fd}`, [Symbol.dispose]: () => closeSync(fd) };
}
