/**
 * A tar archive as a value: the same entries give the same bytes, whatever their order, the clock or the user.
 *
 * Format: POSIX.1-1988 `ustar`, which every image tool reads.
 */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const sorted = withFolders(entries).toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const blocks: Buffer[] = [];
  for (const entry of sorted) {
    blocks.push(headerOf(entry));
    if (entry.type === 'file') blocks.push(entry.content, Buffer.alloc(-entry.content.length & (BLOCK - 1)));
  }
  blocks.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(blocks);
}

/** Paths are relative, without a leading or trailing slash. Folders in between are made by `tarOf`, mode 0755. */
export type TarEntry =
  | { readonly type: 'file'; readonly path: string; readonly content: Buffer; readonly executable?: boolean }
  | { readonly type: 'folder'; readonly path: string; readonly mode?: number }
  | { readonly type: 'link'; readonly path: string; readonly target: string };

const BLOCK = 512;

function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const known = new Map<string, TarEntry>();
  for (const entry of entries) {
    if (known.has(entry.path)) throw new Error(`two entries of the archive are called ${entry.path}`);
    known.set(entry.path, entry);
  }
  for (const { path } of entries) {
    for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
      const folder = path.slice(0, slash);
      const present = known.get(folder);
      if (present === undefined) known.set(folder, { type: 'folder', path: folder });
      else if (present.type !== 'folder') throw new Error(`${path} lies below ${folder}, which is a ${present.type}`);
    }
  }
  return [...known.values()];
}

const TYPE_FLAGS = { file: '0', link: '2', folder: '5' } as const;

function headerOf(entry: TarEntry): Buffer {
  const header = Buffer.alloc(BLOCK);
  const { prefix, name } = splitPath(entry.type === 'folder' ? `${entry.path}/` : entry.path);
  header.write(name, 0, 'utf8');
  header.write(octal(modeOf(entry), 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(entry.type === 'file' ? entry.content.length : 0, 12), 124);
  header.write(octal(0, 12), 136);
  header.write(' '.repeat(8), 148);
  header.write(TYPE_FLAGS[entry.type], 156);
  if (entry.type === 'link') header.write(fitting(entry.target, 100), 157, 'utf8');
  header.write('ustar\u000000', 257);
  header.write(prefix, 345, 'utf8');
  // The checksum is the sum of the header's bytes, its own field taken as spaces.
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148);
  return header;
}

function modeOf(entry: TarEntry): number {
  switch (entry.type) {
    case 'file':
      return entry.executable === true ? 0o755 : 0o644;
    case 'folder':
      return entry.mode ?? 0o755;
    case 'link':
      return 0o777;
  }
}

/** A path longer than 100 bytes is cut at a slash: up to 155 bytes before it, up to 100 after. */
function splitPath(path: string): { prefix: string; name: string } {
  if (path.startsWith('/') || path.split('/').includes('..')) throw new Error(`not a relative path: ${path}`);
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const prefix = path.slice(0, slash);
    const name = path.slice(slash + 1);
    if (name !== '' && Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return { prefix, name };
  }
  throw new Error(`the path does not fit a ustar header: ${path}`);
}

function fitting(text: string, limit: number): string {
  if (Buffer.byteLength(text) > limit) throw new Error(`a link's target is longer than ${limit} bytes: ${text}`);
  return text;
}

function octal(value: number, width: number): string {
  const digits = value.toString(8).padStart(width - 1, '0');
  if (digits.length > width - 1) throw new Error(`${value} does not fit ${width - 1} octal digits`);
  return `${digits}\u0000`;
}
