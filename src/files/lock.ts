/**
 * A lock that ends with its process, even after a crash. Node.js has no flock(2) or fcntl(2), but includes SQLite, which uses
 * POSIX advisory locks (os_unix.c). The database stays empty. With a PID file, two processes that find a dead one's file at once
 * would race.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { pause } from '../work/pause.ts';
import { replaceFile } from './durable.ts';
import { FileError } from './errors.ts';
import { createEmpty } from './owner.ts';
import { sqliteFaultOf } from './sqlite-error.ts';

/**
 * @returns undefined if another process, or another lock of this process, holds it.
 * @throws FileError if the file cannot be created
 */
export function tryLock(path: string): Disposable | undefined {
  createEmpty(path, 0o644);
  let database: DatabaseSync | undefined;
  try {
    // SQLite follows links. It must not create the file behind one of another user.
    database = new DatabaseSync(new URL(`${pathToFileURL(path).href}?mode=rw`), { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    if (database?.isOpen === true) database.close();
    if (sqliteFaultOf(error) === 'busy') return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new FileError('state-unavailable', `The lock ${path} cannot be taken: ${reason}. Remove the file if no earshot runs`, error);
  }
  const held = database;
  return {
    [Symbol.dispose]: () => {
      if (held.isOpen) held.close();
    },
  };
}

/** Whether a process holds the lock. Checking does not take it, so any number of processes may check at once. */
export function isLocked(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    database.exec('SELECT 1 FROM sqlite_schema');
    return false;
  } catch (error) {
    // The file is not readable: assuming a holder is safer than allowing two.
    return sqliteFaultOf(error) === 'busy' || existsSync(path);
  } finally {
    if (database?.isOpen === true) database.close();
  }
}

/**
 * Waits for the lock up to the given time.
 * @throws FileError `state-busy` with the PID of the holder
 */
export async function lockWithin(path: string, milliseconds: number): Promise<Disposable> {
  const deadline = performance.now() + milliseconds;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== undefined) {
      // Only for the message: it may be missing or name an earlier holder.
      await replaceFile(holderOf(path), String(process.pid), 0o600).catch(() => {});
      return lock;
    }
    if (performance.now() >= deadline) {
      const [pid] = /^\d{1,10}$/.exec(await readFile(holderOf(path), 'utf8').catch(() => '')) ?? [];
      const holder = pid === undefined ? 'another process' : `process ${pid}`;
      throw new FileError('state-busy', `${path} is held by ${holder}: wait until that process has exited, or stop it`);
    }
    await pause(5 + Math.random() * 20);
  }
}

const holderOf = (path: string): string => `${path}.pid`;
