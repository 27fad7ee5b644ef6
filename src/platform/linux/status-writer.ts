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
  /** Parts of the text, created when the file is written. */
  readonly parts: () => Iterable<string>;
  readonly mode: number;
}

export interface StatusWriterOptions {
  readonly directory: string;
  /** Called once for each kind of error, and with undefined when it is over. */
  readonly onProblem: (problem: string | undefined) => void;
  /** Milliseconds before a failed write is retried. */
  readonly retry?: number;
  readonly write?: typeof writeDurably;
}

const RETRY = 2_000;

/** Rate limit of writes for each file, since other sites decide how often some content changes. A long file counts as several writes. */
const WRITES = limitTable.statusFileWrites.value;
const BYTES_OF_WRITE = 65_536;
/** Milliseconds before rate-limited files are checked again. */
const LATER = 1_000;

/**
 * CPU-time budget for creating texts: fraction of all time, and milliseconds at once. The status of a site in a large network has a
 * megabyte.
 */
const TEXT_TIME = { part: 0.1, burst: 5, most: 50 } as const;

/**
 * Keeps the status files of a directory up to date. Only changed files are written, and files that change constantly only now and then. A
 * full disk is survived, and creating a long text does not block the event loop.
 */
export class StatusWriter implements Disposable {
  readonly #options: StatusWriterOptions;
  readonly #passes = new Coalescer('pass/status-files', () => this.#work());
  readonly #time = new CpuBudget(TEXT_TIME.part, TEXT_TIME.burst, TEXT_TIME.most);
  /** Text on disk, by file name. */
  readonly #written = new Map<string, string>();
  /** By file name. */
  readonly #writes = new KeyedRateLimiter(WRITES);
  /** Whether a file waits for its rate limit. */
  #isLate = false;
  #desired: ReadonlyMap<string, WrittenFile> = new Map();
  #listed = false;
  readonly #closing = new AbortController();
  #problem: string | undefined;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Error of the last write, for a log line and for readiness; undefined if there was none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Sets all desired files by name and removes others. Calls may overlap; the last one wins. */
  write(files: ReadonlyMap<string, WrittenFile>): void {
    this.#desired = files;
    this.#passes.request();
  }

  /** Resolves once all pending files are written, have failed, or wait for their rate limit. */
  settled(): Promise<void> {
    return this.#passes.idle();
  }

  /** Writes pending files regardless of rate limits, then stops writing. */
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
    if (failure !== this.#problem) {
      this.#problem = failure;
      this.#options.onProblem(failure);
    }
    if (failure !== undefined) this.#passes.requestIn(this.#options.retry ?? RETRY);
    if (this.#isLate) this.#passes.requestIn(LATER);
  }

  /** Writes each file with its latest desired content. @returns the first failure, which does not keep back other files */
  async #ensure(): Promise<string | undefined> {
    const { directory, write = writeDurably } = this.#options;
    let failure: string | undefined;
    const attempt = async (name: string, step: (path: string) => Promise<void>): Promise<void> => {
      const path = join(directory, name);
      await step(path).catch((error: unknown) => {
        failure ??= `${path} cannot be written ${remedyOf(error, 'written')}; the write is retried`;
      });
    };
    if (!this.#listed) await attempt('', () => this.#list());
    this.#isLate = false;
    for (const name of this.#desired.keys()) {
      const file = this.#desired.get(name);
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
    for (const name of [...this.#written.keys()].filter((known) => !this.#desired.has(known))) {
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

  /** Finds files of an earlier process whose resources no longer exist. */
  async #list(): Promise<void> {
    for (const name of await readdir(this.#options.directory)) {
      if (/\.(yaml|tmp)$/.test(name) && !this.#desired.has(name)) this.#written.set(name, '');
    }
    this.#listed = true;
  }
}
