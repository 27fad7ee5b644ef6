/** Detects whether a file changed without reading it. */
import { statSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';

/** `same`: the stamp still matches. */
export type Looked = 'same' | Stats | NodeJS.ErrnoException;

/** File attributes that stay equal while the content is unchanged. */
export type Stamp = Readonly<Pick<Stats, 'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>>;

/** A file and its stamp from an earlier check. */
export interface Watched {
  readonly path: string;
  readonly stamp: Stamp | undefined;
}

/** Maximum number of concurrent requests. libuv has few threads, and DNS lookups use them too. */
const CONCURRENCY = 16;

/** Number of files checked in one event-loop iteration, because connections use the same thread. */
const SLICE = 128;

/**
 * Resolution of file system timestamps in milliseconds. A file that changed more recently may change again without a new stamp.
 */
const STEP = 40;

/**
 * Checks many files every few seconds. Asynchronous calls cost several times as much as synchronous ones. But with a network file
 * system that does not respond, synchronous calls would block the thread that carries traffic. So the first file of each file
 * system is checked asynchronously. Only if it responded are the known files on it checked synchronously.
 */
export class Look {
  /** Devices of file systems that have responded. */
  readonly #answered = new Set<number>();

  /** Results in the order of the files; links are followed. */
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

/** Checks files asynchronously, in libuv's thread pool. */
async function lookThrough(files: readonly Watched[]): Promise<readonly Answer[]> {
  const looked: Answer[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < files.length; index = next++) looked[index] = await lookAt(files[index]?.path ?? '');
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return looked;
}

// Errors of the file system always have this type.
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

/** Whether the stamp is too recent to be reliable. A time in the future comes from another clock. */
export function isFresh({ ctimeMs }: Stamp, now: number): boolean {
  const age = now - ctimeMs;
  return age >= 0 && age < STEP;
}

/** Stamp of a directory's own list of names, or undefined if it is unreliable. */
export async function listingStamp(look: Look, path: string, now: number): Promise<Stamp | undefined> {
  const [found] = await look.at([{ path, stamp: undefined }]);
  return found === undefined || found === 'same' || found instanceof Error || isFresh(found, now) ? undefined : stampOf(found);
}
