/** The mode of the file that holds a resource of this kind with its status: only the owner may read one that holds a code. */
export function statusMode(kind: string): number {
  return withCode.has(kind) ? 0o600 : 0o644;
}

const withCode: ReadonlySet<string> = new Set(['AccessGrant', 'AccessToken']);
