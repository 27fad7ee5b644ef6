/** What tells whether a file is as it was, without reading it. */
import { statSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';

/** `same`: as its stamp says. */
export type Looked = 'same' | Stats | NodeJS.ErrnoException;

/** The same for a file that holds what it held. */
export type Stamp = Readonly<Pick<Stats, 'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>>;

/** A file, and its stamp of an earlier look. */
export interface Watched {
  readonly path: string;
  readonly stamp: Stamp | undefined;
}

/** At once; the system's threads are few, and names of hosts are looked up by them too. */
const CONCURRENCY = 16;

/** Files looked at before others get a turn: connections pass through the same thread. */
const SLICE = 128;

/** Milliseconds: file systems count time in steps, so what changed more recently may change once more without another stamp. */
const STEP = 40;

/**
 * One look at many files, every few seconds. Asking for each through the system's threads costs several times as much as asking at
 * once, but a network's file system that does not answer would then hold up the thread that carries the traffic. So the first file of
 * each file system is asked for in the slow way, and only if that has answered are those asked for at once that were there before.
 */
export class Look {
  /** File systems that have answered. */
  readonly #answered = new Set<number>();

  /** In order; links are followed. */
  async at(files: readonly Watched[]): Promise<readonly Looked[]> {
    const looked: Looked[] = [];
    for (let first = 0; first < files.length; first += SLICE) {
      if (first > 0) await setImmediate();
      looked.push(...(await this.#slice(files.slice(first, first + SLICE))));
    }
    return looked;
  }

  async #slice(files: readonly Watched[]): Promise<readonly Looked[]> {
    const asked = new Set<number>();
    const slow = files.filter(({ stamp }) => {
      if (stamp === undefined) return true;
      if (this.#answered.has(stamp.dev) || asked.has(stamp.dev)) return false;
      asked.add(stamp.dev);
      return true;
    });
    const answers = new Map(await this.#ask(slow));
    const gone = files.filter((file) => !answers.has(file) && file.stamp !== undefined && !this.#answered.has(file.stamp.dev));
    for (const [file, answer] of await this.#ask(gone)) answers.set(file, answer);
    return files.map((file) => shortened(file, answers.get(file) ?? lookNow(file.path)));
  }

  async #ask(files: readonly Watched[]): Promise<readonly (readonly [Watched, Answer])[]> {
    const looked = files.length === 0 ? [] : await lookThrough(files);
    return files.map((file, index) => {
      const found = looked[index] ?? new Error('not looked at');
      if (!(found instanceof Error)) this.#answered.add(found.dev);
      return [file, found];
    });
  }
}

type Answer = Exclude<Looked, 'same'>;

function shortened({ stamp }: Watched, answer: Answer): Looked {
  return stamp !== undefined && !(answer instanceof Error) && isSameStamp(stamp, answer) ? 'same' : answer;
}

/** By the system's threads. */
async function lookThrough(files: readonly Watched[]): Promise<readonly Answer[]> {
  const looked: Answer[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < files.length; index = next++) looked[index] = await lookAt(files[index]?.path ?? '');
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return looked;
}

// What the file system throws is such an error.
const lookAt = (path: string): Promise<Answer> => stat(path).catch((error: unknown) => error as NodeJS.ErrnoException);

function lookNow(path: string): Answer {
  try {
    return statSync(path);
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

export function stampOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): Stamp {
  return { dev, ino, size, mtimeMs, ctimeMs };
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs &&
    one.size === other.size &&
    one.ino === other.ino &&
    one.dev === other.dev
  );
}

/** Whether its stamp cannot be relied on yet. A time to come is that of another clock. */
export function isFresh({ ctimeMs }: Stamp, now: number): boolean {
  const age = now - ctimeMs;
  return age >= 0 && age < STEP;
}

/** The stamp of a directory's own list of names; undefined where it cannot be relied on. */
export async function listingStamp(look: Look, path: string, now: number): Promise<Stamp | undefined> {
  const [found] = await look.at([{ path, stamp: undefined }]);
  return found === undefined || found === 'same' || found instanceof Error || isFresh(found, now) ? undefined : stampOf(found);
}
