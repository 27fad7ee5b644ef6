import { readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileError } from '../../files/errors.ts';
import { lockWithin } from '../../files/lock.ts';
import { pause } from '../../work/pause.ts';
import { TrustError } from '../errors.ts';
import { realDisk } from './disk.ts';

/** A lock for processes. @throws TrustError `state-busy` with the holder's pid, `state-unavailable` */
export async function acquireLock(path: string, waitMilliseconds = 0): Promise<AsyncDisposable> {
  await realDisk.makeDirectory(dirname(path));
  try {
    await using undo = new AsyncDisposableStack();
    undo.use(await lockWithin(path, waitMilliseconds));
    undo.adopt(await keepEarlierOut(path), (fence) => rm(fence, { force: true }).catch(() => {}));
    return undo.move();
  } catch (error) {
    const isBusy = error instanceof FileError && error.code === 'state-busy';
    const message = error instanceof Error ? error.message : String(error);
    throw new TrustError(isBusy ? 'state-busy' : 'state-unavailable', message, error);
  }
}

/** The lock of what a site has issued and revoked. `directory` is the namespace's `internal/`. */
export function lockTrust(directory: string): Promise<AsyncDisposable> {
  return acquireLock(join(directory, 'trust.lock'), TRUST_WAIT);
}

/** Milliseconds. A command may have the lock for as long as a disk takes to sync. */
const TRUST_WAIT = 10_000;

/**
 * A process of an earlier version knows only files `PATH.1`, `PATH.2`, …: whoever the highest names has the lock while it lives. So
 * this process is named by one that is higher than any of theirs, and leaves room above: after a crash an earlier version takes the
 * next number. Whoever was in before it stood is waited for. To be removed with the next version.
 */
async function keepEarlierOut(path: string): Promise<string> {
  const fence = `${path}.${HIGH}`;
  const deadline = performance.now() + LONGEST_STAY;
  const isNumbered = new RegExp(`^${RegExp.escape(basename(path))}\\.[1-9]\\d{0,14}$`);
  for (;;) {
    await writeFile(`${path}.new`, await describeSelf(), { mode: 0o600 });
    await rename(`${path}.new`, fence);
    const files = (await realDisk.names(dirname(path))).filter((name) => isNumbered.test(name)).map((name) => join(dirname(path), name));
    const earlier = files.filter((file) => file !== fence);
    if (earlier.length === 0) return fence;
    for (const file of earlier) {
      while (performance.now() < deadline && (await isHeld(file))) await pause(10);
      // Whoever gave back a higher one has removed ours with it.
      await rm(file, { force: true, recursive: true });
    }
  }
}

const HIGH = '99999999999999';
/** Milliseconds: far longer than one write takes. A store that is held for as long as its process runs has the leader's lock before it. */
const LONGEST_STAY = 2_000;

/** A process's start, in clock ticks since boot (proc(5), field 22), tells it from a later one of the same number. */
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
