/** Kinds of errors of SQLite that callers distinguish. */
export type SqliteFault = 'busy' | 'damaged' | 'full' | 'unwritable' | 'other';

/** Primary result codes: sqlite.org/rescode.html. */
const FAULTS = new Map<number, SqliteFault>([
  [5, 'busy'],
  [8, 'unwritable'],
  [11, 'damaged'],
  [13, 'full'],
  [14, 'unwritable'],
  [26, 'damaged'],
]);

export function sqliteFaultOf(error: unknown): SqliteFault {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  // An extended code has the primary one in its lowest byte.
  return FAULTS.get(code & 0xff) ?? 'other';
}
