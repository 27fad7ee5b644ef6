import { mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileError } from '../../files/errors.ts';
import { lockWithin } from '../../files/lock.ts';
import { pause } from '../../work/pause.ts';
import { TrustError } from '../errors.ts';
import { realDisk } from './disk.ts';

/** A lock for processes. @throws TrustError `state-busy` with the holder's pid, `state-unavailable` */
export async function acquireLock(path: string, options: { readonly waitMilliseconds?: number } = {}): Promise<AsyncDisposable> {
  await realDisk.makeDirectory(dirname(path));
  try {
    await using undo = new AsyncDisposableStack();
    undo.use(await lockWithin(path, options.waitMilliseconds ?? 0));
    undo.adopt(await keepEarlierOut(path), (fence) => rmdir(fence).catch(() => {}));
    return undo.move();
  } catch (error) {
    const isBusy = error instanceof FileError && error.code === 'state-busy';
    const message = error instanceof Error ? error.message : String(error);
    throw new TrustError(isBusy ? 'state-busy' : 'state-unavailable', message, error);
  }
}

/**
 * A process of an earlier version knows only files `PATH.1`, `PATH.2`, …: it reads the highest, makes the next where that says `free`
 * or its process is gone, then looks again, and yields to a higher one. A directory of the greatest number makes all of that fail
 * for as long as it stands. Whoever was in before it stood is waited for. To be removed with the next version.
 */
async function keepEarlierOut(path: string): Promise<string> {
  const fence = `${path}.${GREATEST}`;
  await mkdir(fence, { recursive: true });
  const deadline = performance.now() + LONGEST_STAY;
  const isEarlier = new RegExp(`^${RegExp.escape(basename(path))}\\.[1-9]\\d{0,13}$`);
  for (const name of await realDisk.names(dirname(path))) {
    if (!isEarlier.test(name)) continue;
    const file = join(dirname(path), name);
    while (performance.now() < deadline && (await isHeld(file))) await pause(10);
    await rm(file, { force: true });
  }
  return fence;
}

const GREATEST = '999999999999999';
/** Milliseconds: far longer than one write takes. A store that is held for as long as its process runs has the leader's lock before it. */
const LONGEST_STAY = 2_000;

async function isHeld(file: string): Promise<boolean> {
  const [, pid] = /"pid":(\d+)/.exec(await readFile(file, 'utf8').catch(() => '')) ?? [];
  try {
    return pid !== undefined && process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}
