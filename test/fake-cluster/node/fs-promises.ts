/** Stands for `node:fs/promises` in processes of a played cluster: their node's disk, and each call takes a while. */
import { constants } from 'node:fs';
import { surroundings } from '../../simulate/current.ts';
import { cluster, hereProcess } from '../current.ts';
import { failed, newFolder, type Disk, type Entry } from '../disk.ts';

// Modules import the rest while they are loaded, but call none of it here.
export * from 'node:fs/promises';

type Path = string | Buffer;

/** Makes a call in a later iteration of the calling process. A process that ends before never makes it. */
function call<T>(path: Path, run: (disk: Disk, path: string) => T): Promise<T> {
  const process = hereProcess();
  const disk = cluster().diskOf(process.node);
  return new Promise((resolve, reject) => {
    surroundings().loop.soon(process, () => {
      try {
        resolve(run(disk, String(path)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

class Handle {
  readonly fd: number;
  readonly #disk: Disk;
  readonly #entry: Entry;

  constructor(disk: Disk, entry: Entry) {
    this.#disk = disk;
    this.#entry = entry;
    this.fd = entry.kind === 'folder' ? disk.open(entry) : -1;
  }

  async chmod(): Promise<void> {}

  async writeFile(content: string): Promise<void> {
    if (this.#entry.kind === 'file') this.#entry.content = content;
  }

  async read(buffer: Buffer): Promise<{ readonly buffer: Buffer; readonly bytesRead: number }> {
    return { buffer, bytesRead: this.#entry.kind === 'file' ? buffer.write(this.#entry.content) : 0 };
  }

  async close(): Promise<void> {
    this.#disk.close(this.fd);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export const open = (path: Path, flags: number): Promise<Handle> =>
  call(path, (disk, at) => {
    if ((flags & constants.O_CREAT) !== 0) disk.add(at, { kind: 'file', content: '' });
    const entry = disk.get(at);
    if (entry.kind === 'link') throw failed('ELOOP', at);
    if ((flags & constants.O_DIRECTORY) !== 0 && entry.kind !== 'folder') throw failed('ENOTDIR', at);
    return new Handle(disk, entry);
  });

export const mkdir = (path: Path, options?: { readonly recursive?: boolean }): Promise<void> =>
  call(path, (disk, at) => (options?.recursive === true ? disk.makeFolders(at) : disk.add(at, newFolder())));

export const lstat = (path: Path): Promise<object> =>
  call(path, (disk, at) => {
    const { kind } = disk.get(at);
    return { ino: 1, dev: 1, isSymbolicLink: () => kind === 'link', isDirectory: () => kind === 'folder', isFile: () => kind === 'file' };
  });

export const readlink = (path: Path): Promise<string> =>
  call(path, (disk, at) => {
    const entry = disk.get(at);
    if (entry.kind !== 'link') throw failed('EINVAL', at);
    return entry.text;
  });

export const readdir = (path: Path): Promise<readonly string[]> => call(path, (disk, at) => [...disk.folder(at).entries.keys()]);

export const opendir = (path: Path): Promise<AsyncIterable<{ readonly name: string }>> =>
  call(path, (disk, at) => {
    const names = [...disk.folder(at).entries.keys()];
    return (async function* list() {
      for (const name of names) yield { name };
    })();
  });

export const rename = (from: Path, to: Path): Promise<void> => call(from, (disk, at) => disk.rename(at, String(to)));

export const symlink = (text: string, path: Path): Promise<void> => call(path, (disk, at) => disk.add(at, { kind: 'link', text }));

export const unlink = (path: Path): Promise<void> =>
  call(path, (disk, at) => {
    if (disk.get(at).kind === 'folder') throw failed('EISDIR', at);
    disk.remove(at);
  });

export const rmdir = (path: Path): Promise<void> =>
  call(path, (disk, at) => {
    if (disk.folder(at).entries.size > 0) throw failed('ENOTEMPTY', at);
    disk.remove(at);
  });
