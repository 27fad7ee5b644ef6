/**
 * A lock that ends with its process, however that ends. Node has no flock(2) or fcntl(2); SQLite has (os_unix.c, POSIX
 * advisory locks), and comes with Node. The database stays empty. A pid file alone would race where two processes find
 * a dead one's at once.
 */
import { DatabaseSync } from 'node:sqlite';
import { PlatformError } from '../platform/linux/errors.ts';

export interface Lock extends Disposable {
  readonly path: string;
}

/** @returns undefined where another process (or another lock of this one) holds it. @throws PlatformError where the file cannot be made */
export function tryLock(path: string): Lock | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    if (database?.isOpen === true) database.close();
    if (isBusy(error)) return undefined;
    throw new PlatformError(
      'state-unavailable',
      `The lock ${path} cannot be taken: ${error instanceof Error ? error.message : String(error)}. Remove the file if no earshot runs.`,
      error,
    );
  }
  const held = database;
  return {
    path,
    [Symbol.dispose]: () => {
      if (held.isOpen) held.close();
    },
  };
}

/** SQLITE_BUSY is 5 (sqlite.org/rescode.html). */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}
