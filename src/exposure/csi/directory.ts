import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, opendir, readlink, rename, rmdir, symlink, unlink, type FileHandle } from 'node:fs/promises';
import { hasCode } from '../../files/errno.ts';

export type Kind = 'absent' | 'file' | 'folder' | 'link' | 'other';

/** One segment of a path. Bytes if it was read from disk, because a pod may use any bytes. */
export type Name = string | Buffer;

/**
 * An open folder whose entries are accessed through its file descriptor.
 * The pod can change its volume's folder at any time, for example replace an entry by a link, while this process runs as root. So
 * every path is one name below an open folder (`/proc/self/fd/N/name`, like openat(2)), and no call follows a link of that name.
 * Nothing outside the folder is ever read, written or removed.
 * Names must be single segments; isSegment in tree.ts checks untrusted ones.
 */
export class Directory implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Does not follow a link in the last segment of the path: ENOTDIR or ELOOP. */
  static async open(path: Name): Promise<Directory> {
    return new Directory(await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  #path(name: Name): Name {
    const folder = `/proc/self/fd/${this.#handle.fd}/`;
    return typeof name === 'string' ? folder + name : Buffer.concat([Buffer.from(folder), name]);
  }

  openFolder(name: Name): Promise<Directory> {
    return Directory.open(this.#path(name));
  }

  /** Creates and opens a folder that every user may read. */
  async makeFolder(name: Name): Promise<Directory> {
    await mkdir(this.#path(name));
    const created = await this.openFolder(name);
    // chmod on the open folder, because the umask restricts the mode of mkdir.
    await created.#handle.chmod(0o755);
    return created;
  }

  /** Creates a file that every user may read. Fails if the name exists. */
  async makeFile(name: Name, content: string): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using handle = await open(this.#path(name), flags, 0o644);
    await handle.chmod(0o644);
    await handle.writeFile(content);
  }

  /** The content of a regular file of at most `limit` bytes. Undefined for anything else, absent or unreadable. */
  async readFile(name: Name, limit: number): Promise<string | undefined> {
    try {
      // O_NONBLOCK: opening a pipe in the file's place must not block.
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      await using handle = await open(this.#path(name), flags);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(limit + 1), 0, limit + 1, 0);
      return bytesRead > limit ? undefined : buffer.toString('utf8', 0, bytesRead);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ELOOP', 'EISDIR', 'ENXIO', 'EACCES', 'EINVAL', 'ESPIPE', 'EAGAIN')) return undefined;
      throw error;
    }
  }

  makeLink(name: Name, text: string): Promise<void> {
    return symlink(text, this.#path(name));
  }

  /** The text of a link; undefined for anything else. */
  async readLink(name: Name): Promise<string | undefined> {
    try {
      return await readlink(this.#path(name));
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'EINVAL')) return undefined;
      throw error;
    }
  }

  async kindOf(name: Name): Promise<Kind> {
    try {
      const found = await lstat(this.#path(name));
      if (found.isSymbolicLink()) return 'link';
      if (found.isDirectory()) return 'folder';
      return found.isFile() ? 'file' : 'other';
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return 'absent';
      throw error;
    }
  }

  /** rename(2): atomically replaces the entry with the new name, unless it is a folder. */
  rename(from: Name, to: Name): Promise<void> {
    return rename(this.#path(from), this.#path(to));
  }

  /** Moves an entry of another open folder here. */
  take(other: Directory, from: Name, to: Name): Promise<void> {
    return rename(other.#path(from), this.#path(to));
  }

  removeFile(name: Name): Promise<void> {
    return unlink(this.#path(name));
  }

  /** Removes an empty folder. */
  removeFolder(name: Name): Promise<void> {
    return rmdir(this.#path(name));
  }

  /** Up to `limit` names in no particular order. */
  async names(limit: number): Promise<readonly Buffer[]> {
    // latin1 maps each byte to one character.
    const folder = await opendir(`/proc/self/fd/${this.#handle.fd}`, { encoding: 'latin1' });
    const names: Buffer[] = [];
    for await (const { name } of folder) {
      names.push(Buffer.from(name, 'latin1'));
      if (names.length === limit) break;
    }
    return names;
  }
}

/** An unguessable unused name that a pod's `ls` and `*` do not show. */
export function freshName(): string {
  return `..${randomUUID()}`;
}
