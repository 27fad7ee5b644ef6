import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, readlink, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hasCode } from './disk.ts';
import { TrustError } from '../errors.ts';

/**
 * A lock for processes, made of numbered files `PATH.1`, `PATH.2`, … A file is made whole (by linking it into place, which
 * fails where the name is taken) and is never changed. Invariants:
 *
 * - Whoever made the file of the highest number has the lock; a file that says `free` gives it to nobody.
 * - The next number may be made only once the highest is free, or its process is gone.
 * - A file is removed only while a higher one stands. So the highest number never falls, and one who makes a lower number
 *   out of an old listing sees the higher one when it looks again, and yields.
 *
 * Nothing is synced: after a restart of the machine no process is left to hold it.
 */
export async function acquireLock(path: string, options: { readonly waitMilliseconds?: number } = {}): Promise<AsyncDisposable> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const self = await describeSelf();
  const deadline = performance.now() + (options.waitMilliseconds ?? 0);
  for (;;) {
    const attempt = await tryOnce(path, self);
    if (attempt.kind === 'held') return { [Symbol.asyncDispose]: () => release(path, attempt.number) };
    if (attempt.kind === 'busy' && performance.now() >= deadline) {
      throw new TrustError('state-busy', `${path} is held by process ${attempt.pid}: wait until it has ended, or end it`);
    }
    // A lost race is tried again soon, for somebody else has gained by it and the lock may be free already.
    await delay(attempt.kind === 'busy' ? 5 + Math.random() * 20 : 1);
  }
}

interface Holder {
  readonly pid: number;
  /** In clock ticks since boot: tells a process from a later one of the same number. */
  readonly start: string;
  readonly boot: string;
  /** The namespace in which `pid` counts. */
  readonly pidNamespace: string;
}

type Attempt =
  | { readonly kind: 'held'; readonly number: number }
  | { readonly kind: 'busy'; readonly pid: number }
  | { readonly kind: 'lost' };

async function tryOnce(path: string, self: Holder): Promise<Attempt> {
  const highest = await highestOf(path);
  if (highest > 0) {
    const content = await readHolder(fileOf(path, highest));
    if (content === undefined) return { kind: 'lost' };
    const holder = parseHolder(content);
    if (holder !== undefined && (await isAlive(holder, self))) return { kind: 'busy', pid: holder.pid };
  }
  const number = highest + 1;
  if (!(await make(path, number, JSON.stringify(self)))) return { kind: 'lost' };
  if ((await highestOf(path)) !== number) {
    await unlink(fileOf(path, number)).catch(absent);
    return { kind: 'lost' };
  }
  await removeBelow(path, number);
  return { kind: 'held', number };
}

async function release(path: string, number: number): Promise<void> {
  await make(path, number + 1, 'free');
  await removeBelow(path, number + 1);
}

async function readHolder(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new TrustError('state-unavailable', `the lock ${file} cannot be read: it must belong to the user that runs earshot`, error);
  }
}

const fileOf = (path: string, number: number): string => `${path}.${number}`;

/** @returns whether the name was ours to take */
async function make(path: string, number: number, content: string): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`;
  try {
    await writeFile(temporary, content, { mode: 0o600, flag: 'wx' });
    await link(temporary, fileOf(path, number));
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw new TrustError(
      'state-unavailable',
      `the lock ${path} cannot be taken: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  } finally {
    await unlink(temporary).catch(absent);
  }
}

async function numbersOf(path: string): Promise<readonly number[]> {
  const prefix = `${basename(path)}.`;
  const names = await readdir(dirname(path));
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((rest) => /^[1-9]\d{0,14}$/.test(rest))
    .map(Number);
}

const highestOf = async (path: string): Promise<number> => (await numbersOf(path)).reduce((most, number) => Math.max(most, number), 0);

async function removeBelow(path: string, number: number): Promise<void> {
  for (const lower of await numbersOf(path)) {
    if (lower < number) await unlink(fileOf(path, lower)).catch(absent);
  }
}

/** `free`, and whatever nobody of ours has written, is held by nobody. */
function parseHolder(content: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value !== 'object' || value === null) return undefined;
    const { pid, start, boot, pidNamespace } = value as Partial<Record<keyof Holder, unknown>>;
    return typeof pid === 'number' && typeof start === 'string' && typeof boot === 'string' && typeof pidNamespace === 'string'
      ? { pid, start, boot, pidNamespace }
      : undefined;
  } catch {
    return undefined;
  }
}

async function isAlive(holder: Holder, self: Holder): Promise<boolean> {
  if (holder.boot !== self.boot) return false;
  // A process in another container cannot be seen from here. Better to wait for a person than to take it for dead.
  if (holder.pidNamespace !== self.pidNamespace) return true;
  const start = await startOf(holder.pid);
  return start !== undefined && start === holder.start;
}

async function describeSelf(): Promise<Holder> {
  return {
    pid: process.pid,
    start: (await startOf(process.pid)) ?? '',
    boot: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(absent))?.trim() ?? '',
    pidNamespace: (await readlink('/proc/self/ns/pid').catch(absent)) ?? '',
  };
}

/** Field 22 of `/proc/PID/stat` (proc(5)); the second is in parentheses and may hold anything. Elsewhere than on Linux: whether it lives. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(join('/proc', String(pid), 'stat'), 'utf8').catch(absent);
  if (text !== undefined) {
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // A zombie has given up all that it held.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  }
  if (process.platform === 'linux') return undefined;
  try {
    process.kill(pid, 0);
    return '';
  } catch (error) {
    return hasCode(error, 'EPERM') ? '' : undefined;
  }
}

function absent(error: unknown): undefined {
  if (hasCode(error, 'ENOENT', 'ESRCH', 'ENOTDIR', 'EINVAL', 'EACCES')) return undefined;
  throw error;
}
