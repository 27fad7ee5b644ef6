import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFile, writeDurably } from '../../files/durable.ts';
import { remedyOf } from '../../files/errno.ts';
import { detached } from '../../telemetry/boundary.ts';
import { Passes } from '../../work/passes.ts';

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

const RETRY = 2_000;

/** Keeps a directory of statuses as they are to be: only what changed is written, and a full disk is survived. */
export class StatusWriter implements Disposable {
  readonly #options: StatusWriterOptions;
  readonly #passes = new Passes(() => this.#work());
  /** What is known to be on disk. */
  readonly #written = new Map<string, string>();
  #wanted: ReadonlyMap<string, WrittenFile> = new Map();
  #listed = false;
  #trouble: string | undefined;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** What cannot be written, for a log line and for readiness; undefined while all is well. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** All files that should be there, by name: others go. Calls may overlap; the last one wins. */
  write(files: ReadonlyMap<string, WrittenFile>): void {
    this.#wanted = files;
    this.#passes.request();
  }

  /** Resolves when all that was asked for is written or has failed. */
  settled(): Promise<void> {
    return this.#passes.idle();
  }

  [Symbol.dispose](): void {
    detached('pass/statuses-end', () => this.#passes.end());
  }

  async #work(): Promise<void> {
    const wanted = this.#wanted;
    const failure = await this.#bringAbout(wanted);
    // Where something else was asked for meanwhile, that decides.
    if (wanted !== this.#wanted || this.#passes.ended) return;
    if (failure !== this.#trouble) {
      this.#trouble = failure;
      this.#options.onTrouble(failure);
    }
    if (failure !== undefined) this.#passes.requestIn(this.#options.retry ?? RETRY);
  }

  /** @returns the first failure: one file does not keep the others back */
  async #bringAbout(wanted: ReadonlyMap<string, WrittenFile>): Promise<string | undefined> {
    const { directory, write = writeDurably } = this.#options;
    let failure: string | undefined;
    const attempt = async (name: string, step: (path: string) => Promise<void>): Promise<void> => {
      const path = join(directory, name);
      await step(path).catch((error: unknown) => {
        failure ??= `${path} cannot be written ${remedyOf(error, 'written')}; it is tried again`;
      });
    };
    if (!this.#listed) await attempt('', () => this.#list(wanted));
    for (const [name, { text, mode }] of wanted) {
      if (this.#written.get(name) === text) continue;
      await attempt(name, async (path) => {
        await write(path, text, mode);
        this.#written.set(name, text);
      });
      if (wanted !== this.#wanted) return failure;
    }
    for (const name of [...this.#written.keys()].filter((known) => !wanted.has(known))) {
      await attempt(name, async (path) => {
        await removeFile(path);
        this.#written.delete(name);
      });
    }
    return failure;
  }

  /** Files of an earlier run, of resources that are gone meanwhile. */
  async #list(wanted: ReadonlyMap<string, WrittenFile>): Promise<void> {
    for (const name of await readdir(this.#options.directory)) {
      if (/\.(yaml|tmp)$/.test(name) && !wanted.has(name)) this.#written.set(name, '');
    }
    this.#listed = true;
  }
}
