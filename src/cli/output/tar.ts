/** Writes an uncompressed tar archive of plain files, POSIX `ustar` (IEEE Std 1003.1, "pax: ustar Interchange Format"). */
export interface ArchiveFile {
  /** Relative path without `..`. */
  readonly path: string;
  readonly content: string;
  /** Default: 0600. */
  readonly mode?: number;
}

const BLOCK = 512;

/** @param seconds modification time in seconds since 1970 */
export function tarOf(files: readonly ArchiveFile[], seconds: number): Buffer {
  const parts = files.flatMap(({ path, content, mode = 0o600 }) => {
    const bytes = Buffer.from(content);
    return [header(path, bytes.length, seconds, mode), bytes, Buffer.alloc(-bytes.length & (BLOCK - 1))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function header(path: string, size: number, seconds: number, mode: number): Buffer {
  const { prefix, name } = split(path);
  const head = Buffer.alloc(BLOCK);
  head.write(name, 0, 'utf8');
  const numbers: readonly (readonly [value: number, at: number, width: number])[] = [
    [mode, 100, 8],
    [0, 108, 8],
    [0, 116, 8],
    [size, 124, 12],
    [seconds, 136, 12],
  ];
  for (const [value, at, width] of numbers) head.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at);
  head.write(' '.repeat(8), 148);
  head.write('0', 156);
  head.write('ustar\u000000', 257);
  head.write(prefix, 345, 'utf8');
  // The checksum is the sum of the header's bytes, with the checksum field counted as spaces.
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return head;
}

/** `ustar` allows up to 155 bytes before a slash and up to 100 after it. */
function split(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (name !== '' && Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return { prefix, name };
  }
  throw new Error(`the path is too long for an archive: ${path.slice(0, 80)}…`);
}
