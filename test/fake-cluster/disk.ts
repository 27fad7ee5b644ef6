/** A node's disk, in memory: folders, files and links, by the rules of the system calls that the driver uses. */

export type Entry = Folder | { readonly kind: 'file'; content: string } | { readonly kind: 'link'; readonly text: string };

export interface Folder {
  readonly kind: 'folder';
  readonly entries: Map<string, Entry>;
}

export const newFolder = (): Folder => ({ kind: 'folder', entries: new Map() });

export function failed(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

export class Disk {
  readonly root = newFolder();
  /** Folders that are open, by file descriptor. */
  readonly #open = new Map<number, Folder>();
  #next = 3;

  /** The folder that holds the last segment, and that segment. */
  at(path: string): { readonly folder: Folder; readonly name: string } {
    const inOpen = /^\/proc\/self\/fd\/(\d+)\/?(.*)$/.exec(path);
    let folder: Entry | undefined = inOpen === null ? this.root : this.#open.get(Number(inOpen[1]));
    const segments = (inOpen?.[2] ?? path).split('/').filter((segment) => segment !== '');
    const name = segments.pop() ?? '';
    for (const segment of segments) {
      if (folder?.kind !== 'folder') throw failed(folder === undefined ? 'ENOENT' : 'ENOTDIR', path);
      folder = folder.entries.get(segment);
    }
    if (folder?.kind !== 'folder') throw failed(folder === undefined ? 'ENOENT' : 'ENOTDIR', path);
    return { folder, name };
  }

  find(path: string): Entry | undefined {
    const { folder, name } = this.at(path);
    return name === '' ? folder : folder.entries.get(name);
  }

  get(path: string): Entry {
    const found = this.find(path);
    if (found === undefined) throw failed('ENOENT', path);
    return found;
  }

  folder(path: string): Folder {
    const found = this.get(path);
    if (found.kind !== 'folder') throw failed('ENOTDIR', path);
    return found;
  }

  add(path: string, entry: Entry): void {
    const { folder, name } = this.at(path);
    if (folder.entries.has(name)) throw failed('EEXIST', path);
    folder.entries.set(name, entry);
  }

  /** With all folders that lead there. */
  makeFolders(path: string): void {
    let { root: folder } = this;
    for (const segment of path.split('/').filter((each) => each !== '')) {
      const next = folder.entries.get(segment) ?? newFolder();
      folder.entries.set(segment, next);
      if (next.kind !== 'folder') throw failed('ENOTDIR', path);
      folder = next;
    }
  }

  remove(path: string): void {
    const { folder, name } = this.at(path);
    if (!folder.entries.delete(name)) throw failed('ENOENT', path);
  }

  rename(from: string, to: string): void {
    const { folder, name } = this.at(from);
    const moved = folder.entries.get(name);
    if (moved === undefined) throw failed('ENOENT', from);
    const target = this.at(to);
    const there = target.folder.entries.get(target.name);
    if (there?.kind === 'folder' && moved.kind !== 'folder') throw failed('EISDIR', to);
    if (there?.kind === 'folder' && there.entries.size > 0) throw failed('ENOTEMPTY', to);
    folder.entries.delete(name);
    target.folder.entries.set(target.name, moved);
  }

  open(folder: Folder): number {
    this.#next += 1;
    this.#open.set(this.#next, folder);
    return this.#next;
  }

  close(descriptor: number): void {
    this.#open.delete(descriptor);
  }
}
