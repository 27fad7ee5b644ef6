import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFile, writeDurably } from '../../files/durable.ts';
import { remedyOf } from '../../files/errno.ts';
import { detached } from '../../telemetry/boundary.ts';
import { Coalescer } from '../../limits/loop/coalescer.ts';
import { pause } from '../../work/pause.ts';
import { CpuBudget } from '../../limits/cpu-budget.ts';
import { KeyedRateLimiter } from '../../limits/rate-limiter.ts';
import { limitTable } from '../../limits/table.ts';

export interface WrittenFile {
  /** Its text, in parts that are put together when it is its turn. */
  readonly parts: () => Iterable<string>;
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

/** How often one file is written: others decide how often some of what it tells changes. A long one counts as several. */
const WRITES = limitTable.statusFileWrites.value;
const BYTES_OF_WRITE = 65_536;
/** Milliseconds after which what had to wait is looked at again. */
const LATER = 1_000;

/** Of all time, the part in which texts are put together, and milliseconds of it at once: the status of a site in a large network has a megabyte. */
const TEXT_TIME = { part: 0.1, burst: 5, most: 50 } as const;

/**
 * Keeps a directory of statuses as they are to be: only what changed is written, and what changes again and again once in a while; a full disk is
 * survived, and nobody waits for a long text to be put together.
 */
export class StatusWriter implements Disposable {
  readonly #options: StatusWriterOptions;
  readonly #passes = new Coalescer(() => this.#work());
  readonly #time = new CpuBudget(TEXT_TIME.part, TEXT_TIME.burst, TEXT_TIME.most);
  /** What is known to be on disk. */
  readonly #written = new Map<string, string>();
  /** By file. */
  readonly #writes = new KeyedRateLimiter(WRITES);
  /** Some file has to wait for its next write. */
  #isLate = false;
  #wanted: ReadonlyMap<string, WrittenFile> = new Map();
  #listed = false;
  readonly #closing = new AbortController();
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

  /** Resolves when all that was asked for is written, has failed, or has to wait. */
  settled(): Promise<void> {
    return this.#passes.idle();
  }

  /** The same, without sparing others, and nothing is written any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#isLate) this.#passes.request();
    await this.settled();
    await this.#passes.end();
  }

  [Symbol.dispose](): void {
    detached('pass/statuses-end', () => this.#passes.end());
  }

  async #work(): Promise<void> {
    const failure = await this.#ensure();
    if (this.#passes.ended) return;
    if (failure !== this.#trouble) {
      this.#trouble = failure;
      this.#options.onTrouble(failure);
    }
    if (failure !== undefined) this.#passes.requestIn(this.#options.retry ?? RETRY);
    if (this.#isLate) this.#passes.requestIn(LATER);
  }

  /** Of each file what is wanted when it is its turn. @returns the first failure: one file does not keep the others back */
  async #ensure(): Promise<string | undefined> {
    const { directory, write = writeDurably } = this.#options;
    let failure: string | undefined;
    const attempt = async (name: string, step: (path: string) => Promise<void>): Promise<void> => {
      const path = join(directory, name);
      await step(path).catch((error: unknown) => {
        failure ??= `${path} cannot be written ${remedyOf(error, 'written')}; it is tried again`;
      });
    };
    if (!this.#listed) await attempt('', () => this.#list());
    this.#isLate = false;
    for (const name of this.#wanted.keys()) {
      const file = this.#wanted.get(name);
      if (file === undefined) continue;
      const text = await this.#textOf(file.parts());
      if (this.#written.get(name) === text) continue;
      if (this.#writes.left(name, performance.now()) < 1 && !this.#closing.signal.aborted) {
        this.#isLate = true;
        continue;
      }
      await attempt(name, async (path) => {
        await write(path, text, file.mode);
        this.#written.set(name, text);
        for (let bytes = text.length; bytes >= 0; bytes -= BYTES_OF_WRITE) this.#writes.reserve(name, performance.now());
      });
    }
    for (const name of [...this.#written.keys()].filter((known) => !this.#wanted.has(known))) {
      await attempt(name, async (path) => {
        await removeFile(path);
        this.#written.delete(name);
        this.#writes.delete(name);
      });
    }
    return failure;
  }

  async #textOf(parts: Iterable<string>): Promise<string> {
    const texts: string[] = [];
    let since = performance.now();
    for (const part of parts) {
      texts.push(part);
      const now = performance.now();
      this.#time.spend(now - since, now);
      since = now;
      const wait = this.#closing.signal.aborted ? 0 : this.#time.wait(now);
      if (wait === 0) continue;
      await pause(wait, this.#closing.signal).catch(() => {});
      since = performance.now();
    }
    return texts.join('');
  }

  /** Files of an earlier run, of resources that are gone meanwhile. */
  async #list(): Promise<void> {
    for (const name of await readdir(this.#options.directory)) {
      if (/\.(yaml|tmp)$/.test(name) && !this.#wanted.has(name)) this.#written.set(name, '');
    }
    this.#listed = true;
  }
}
