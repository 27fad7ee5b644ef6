/** Keeps `runtime/resources` as the statuses are: only what changed is written, and a full disk is survived. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from './errors.ts';
import { codeOf, removeFile, writeDurably } from '../../files/durable.ts';

export interface StatusWriter {
  /** All files that should be there, by name: others go. Calls may overlap; the last one wins. */
  write(files: ReadonlyMap<string, WrittenFile>): void;
  /** Resolves when all that was asked for is written or has failed. */
  settled(): Promise<void>;
  /** What cannot be written, for a log line and for readiness; undefined while all is well. */
  readonly trouble: string | undefined;
}

export interface WrittenFile {
  readonly text: string;
  readonly mode: number;
}

export interface StatusWriterOptions {
  readonly directory: string;
  /** Told once for each kind of trouble, and (with undefined) when it is over. */
  readonly onTrouble: (trouble: string | undefined) => void;
  /** Milliseconds before what failed is tried again. */
  readonly retry?: number;
  readonly write?: typeof writeDurably;
}

export function createStatusWriter({
  directory,
  onTrouble,
  retry = 2000,
  write = writeDurably,
}: StatusWriterOptions): StatusWriter & Disposable {
  /** What is known to be on disk. */
  const written = new Map<string, string>();
  let wanted: ReadonlyMap<string, WrittenFile> = new Map();
  let listed = false;
  let dirty = false;
  let working: Promise<void> | undefined;
  let trouble: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;

  async function pass(): Promise<string | undefined> {
    let failure: string | undefined;
    const attempt = async (name: string, step: () => Promise<void>): Promise<void> => {
      try {
        await step();
      } catch (error) {
        failure ??= `${join(directory, name)} cannot be written (${codeOf(error)})${remedyOf(error)}; it is tried again`;
      }
    };
    if (!listed) {
      // Files of an earlier run, of resources that are gone meanwhile.
      await attempt('', async () => {
        for (const name of await readdir(directory)) if (/\.(yaml|tmp)$/.test(name) && !wanted.has(name)) written.set(name, '');
        listed = true;
      });
    }
    for (const [name, { text, mode }] of wanted) {
      if (written.get(name) === text) continue;
      await attempt(name, async () => {
        await write(join(directory, name), text, mode);
        written.set(name, text);
      });
      if (dirty) return failure;
    }
    for (const name of [...written.keys()].filter((known) => !wanted.has(known))) {
      await attempt(name, async () => {
        await removeFile(join(directory, name));
        written.delete(name);
      });
    }
    return failure;
  }

  async function work(): Promise<void> {
    dirty = false;
    const failure = await pass();
    // Meanwhile something else was asked for: that decides.
    if (dirty || ended) return;
    if (failure !== trouble) {
      trouble = failure;
      onTrouble(failure);
    }
    if (failure === undefined) return;
    clearTimeout(timer);
    timer = setTimeout(start, retry);
    timer.unref();
  }

  function start(): void {
    dirty = true;
    working ??= work().finally(() => {
      working = undefined;
      if (dirty && !ended) start();
    });
  }

  async function settled(): Promise<void> {
    const current = working;
    if (current === undefined) return;
    await current;
    return settled();
  }

  return {
    write: (files) => {
      wanted = files;
      start();
    },
    settled,
    get trouble() {
      return trouble;
    },
    [Symbol.dispose]: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}

function remedyOf(error: unknown): string {
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return ': the disk is full, free some space';
  if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return ': this user may not write there';
  return hasCode(error, 'EIO') ? ': the disk reports an error' : '';
}
