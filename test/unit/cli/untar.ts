/** Name and text of each file of a tar archive. */
export function untar(archive: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const field = (from: number, to: number) => archive.toString('utf8', at + from, at + to).replace(/\0.*$/s, '');
    const size = Number.parseInt(field(124, 136), 8);
    const prefix = field(345, 500);
    found.set(`${prefix === '' ? '' : `${prefix}/`}${field(0, 100)}`, archive.toString('utf8', at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return found;
}
