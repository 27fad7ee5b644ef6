import { readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { replaceFile } from '../../files/durable.ts';
import { FileError } from '../../files/errors.ts';
import { lockWithin } from '../../files/lock.ts';
import { removeTree } from '../../files/secure-path.ts';
import { pause } from '../../work/pause.ts';
import { TrustError } from '../errors.ts';
import { realDisk } from './disk.ts';

/** Acquires a lock between processes. @throws TrustError `state-busy` with the PID of the holder, `state-unavailable` */
export async function acquireLock(path: string, waitMilliseconds = 0): Promise<AsyncDisposable> {
  await realDisk.makeDirectory(dirname(path));
  try {
    await using undo = new AsyncDisposableStack();
    undo.use(await lockWithin(path, waitMilliseconds));
    undo.adopt(await keepEarlierOut(path), (fence) => removeTree(fence).catch(() => {}));
    return undo.move();
  } catch (error) {
    const isBusy = error instanceof FileError && error.code === 'state-busy';
    const message = error instanceof Error ? error.message : String(error);
    throw new TrustError(isBusy ? 'state-busy' : 'state-unavailable', message, error);
  }
}

/** Acquires the lock of what a site has issued and revoked. `directory` is the namespace's `internal/`. */
export function lockTrust(directory: string): Promise<AsyncDisposable> {
  return acquireLock(join(directory, 'trust.lock'), TRUST_WAIT);
}

/** Milliseconds. A command may hold the lock while a disk syncs. */
const TRUST_WAIT = 10_000;

/**
 * Excludes processes of an earlier version, which know only files `PATH.1`, `PATH.2`, …: the live process named in the highest file has the
 * lock. This process therefore writes a file with a higher number than theirs, below the maximum: after a crash an earlier version takes
 * the next number. Waits for holders from before that. To be removed with the next version.
 */
async function keepEarlierOut(path: string): Promise<string> {
  const fence = `${path}.${HIGH}`;
  const deadline = performance.now() + LONGEST_STAY;
  const isNumbered = new RegExp(`^${RegExp.escape(basename(path))}\\.[1-9]\\d{0,14}$`);
  for (;;) {
    await replaceFile(fence, await describeSelf(), 0o600);
    const files = (await realDisk.names(dirname(path))).filter((name) => isNumbered.test(name)).map((name) => join(dirname(path), name));
    const earlier = files.filter((file) => file !== fence);
    if (earlier.length === 0) return fence;
    for (const file of earlier) {
      while (performance.now() < deadline && (await isHeld(file))) await pause(10);
      // A process that released a higher-numbered file has removed the file of this process with it.
      await removeTree(file);
    }
  }
}

const HIGH = '99999999999999';
/** Milliseconds; far longer than one write. Processes that hold a store for their whole life acquire the leader's lock first. */
const LONGEST_STAY = 2_000;

/** The start time, in clock ticks since boot (proc(5), field 22), distinguishes this process from a later one with the same PID. */
async function describeSelf(): Promise<string> {
  const [stat, boot, pidNamespace] = await Promise.all([
    readFile('/proc/self/stat', 'utf8').catch(() => ''),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  return JSON.stringify({ pid: process.pid, start, boot: boot.trim(), pidNamespace });
}

async function isHeld(file: string): Promise<boolean> {
  const [, pid] = /"pid":(\d+)/.exec(await readFile(file, 'utf8').catch(() => '')) ?? [];
  try {
    return pid !== undefined && process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}
