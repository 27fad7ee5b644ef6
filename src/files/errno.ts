/** Whether this error or one of its causes has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && codes.includes(String(error.code))) || hasCode(error.cause, ...codes);
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** Formats `(CODE): what to do`, to follow a clause such as "PATH cannot be read". */
export function remedyOf(error: unknown, done: string): string {
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM') {
    return `(${code}): the user that runs Earshot must be allowed to ${done === 'read' ? 'read' : 'write'} it`;
  }
  const remedy = REMEDIES.get(code);
  return remedy === undefined ? `(${code})` : `(${code}): ${remedy}`;
}

const REMEDIES = new Map([
  ['ENOSPC', 'the disk is full; free some space'],
  ['EDQUOT', "the user's disk quota is used up; free some space"],
  ['EROFS', 'the file system is read-only'],
  ['EISDIR', 'it is a directory; put a file there'],
  ['ENOTDIR', 'a part of its path is a file, or a link without a target'],
  ['EEXIST', 'another kind of file is in its place; remove it'],
  ['ENOENT', 'a part of its path does not exist, or is a link without a target'],
  ['ELOOP', 'its symbolic links form a cycle'],
  ['ENXIO', 'it is a socket or a pipe; put a file there'],
  ['EIO', 'the disk reports an error'],
]);
