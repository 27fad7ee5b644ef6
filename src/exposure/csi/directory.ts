import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, opendir, readlink, rename, rmdir, symlink, unlink, type FileHandle } from 'node:fs/promises';
import { hasCode } from '../../files/errno.ts';

export type Kind = 'absent' | 'file' | 'folder' | 'link' | 'other';

/** One segment of a path. As bytes where it was read from the disk, since a pod may use any. */
export type Name = string | Buffer;

/**
 * An open folder, whose entries are reached through its file descriptor.
 *
 * A volume's folder is also in the hands of its pod, which may put a link in the place of anything at any moment, while
 * this process is root in a folder that holds all pods' volumes. Every path here is therefore one name below an open
 * folder (`/proc/self/fd/N/name`, which is what openat(2) does), and no call follows a link that bears that name. So
 * nothing outside is ever read, written or removed, whatever the pod does meanwhile.
 *
 * Names must be single segments; isSegment in tree.ts says which texts from outside are.
 */
export class Directory implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** The links in the path's last segment are not followed: ENOTDIR or ELOOP. */
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

  /** Makes and opens a folder that all may read. */
  async makeFolder(name: Name): Promise<Directory> {
    await mkdir(this.#path(name));
    const made = await this.openFolder(name);
    // Set on the open folder, since mkdir's mode is cut by the umask.
    await made.#handle.chmod(0o755);
    return made;
  }

  /** Makes a file that all may read. Fails where the name exists. */
  async makeFile(name: Name, content: string): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using handle = await open(this.#path(name), flags, 0o644);
    await handle.chmod(0o644);
    await handle.writeFile(content);
  }

  /** The content of a regular file of at most `limit` bytes; undefined for anything else, absent or unreadable. */
  async readFile(name: Name, limit: number): Promise<string | undefined> {
    try {
      // O_NONBLOCK: a pipe in the file's place must not hold us up.
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

  /** rename(2): what bears the new name is replaced in one instant, unless it is a folder. */
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

  /** The folder must be empty. */
  removeFolder(name: Name): Promise<void> {
    return rmdir(this.#path(name));
  }

  /** Up to `limit` names, in no order. */
  async names(limit: number): Promise<readonly Buffer[]> {
    // latin1 gives each byte as it is.
    const folder = await opendir(`/proc/self/fd/${this.#handle.fd}`, { encoding: 'latin1' });
    const names: Buffer[] = [];
    for await (const { name } of folder) {
      names.push(Buffer.from(name, 'latin1'));
      if (names.length === limit) break;
    }
    return names;
  }
}

/** A name that is hidden from a pod's `ls` and `*`, and that nobody else has used or can guess. */
export function freshName(): string {
  return `..${randomUUID()}`;
}
