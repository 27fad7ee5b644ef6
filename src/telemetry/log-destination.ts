import { fstatSync, write } from 'node:fs';
import { limitTable } from '../limits/table.ts';

/** The log destination of this process: standard output. */
export function standardOutput(): LogDestination {
  shared ??= new LogDestination(sinkOf(1));
  return shared;
}

/** Undefined if this process has not logged anything. */
export const destinationInUse = (): LogDestination | undefined => shared;

let shared: LogDestination | undefined;

export interface Sink {
  /** Writes asynchronously: `done` is called once with the number of bytes written or an error, never during the call. */
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null | undefined, taken: number) => void): void;
  /** Whether a write occupies a thread until it ends. */
  readonly threaded: boolean;
}

/** Maximum bytes buffered for a full disk or a stalled reader. Lines beyond are dropped and counted. */
const MOST = limitTable.logBytes.value;
/** Milliseconds until a failed write is retried. */
const AGAIN = 1_000;
/** Error codes after which no write can succeed any more. */
const FOR_GOOD: ReadonlySet<string> = new Set(['EPIPE', 'EBADF', 'ERR_STREAM_DESTROYED']);

/**
 * Destination of log lines. Logging never blocks and never ends anything else. One write is in progress at a time; lines logged
 * meanwhile are written together.
 */
export class LogDestination {
  /** Number of dropped lines. */
  dropped = 0;
  /** Called with the number of dropped lines once writing resumes. */
  onResumed: (dropped: number) => void = () => {};
  readonly #sink: Sink;
  readonly #most: number;
  #lines: string[] = [];
  #bytes = 0;
  #writing: Buffer | undefined;
  #unreported = 0;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #flushed: (() => void) | undefined;

  constructor(sink: Sink, most = MOST) {
    this.#sink = sink;
    this.#most = most;
  }

  /** Number of buffered bytes. */
  get waiting(): number {
    return this.#bytes + (this.#writing?.length ?? 0);
  }

  /** Whether a thread is blocked in a write. */
  get blocks(): boolean {
    return this.#sink.threaded && this.#writing !== undefined && this.#timer === undefined;
  }

  write(line: string): void {
    if (this.#closed || this.waiting + line.length > this.#most) {
      this.#drop(1);
      return;
    }
    this.#lines.push(line);
    this.#bytes += line.length;
    if (this.#writing === undefined) this.#next();
  }

  /**
   * Resolves when everything is written or the deadline in milliseconds has passed.
   * @returns whether everything was written
   */
  async flush(deadline: number): Promise<boolean> {
    if (this.waiting === 0) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, deadline);
    this.#flushed = resolve;
    await promise;
    clearTimeout(timer);
    return this.waiting === 0;
  }

  #next(): void {
    if (this.#lines.length === 0) {
      this.#flushed?.();
      return;
    }
    this.#writing = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#bytes = 0;
    this.#send(this.#writing);
  }

  #send(bytes: Buffer): void {
    this.#sink.write(bytes, (error, taken) => this.#sent(bytes, error, taken));
  }

  #sent(bytes: Buffer, error: NodeJS.ErrnoException | null | undefined, taken: number): void {
    if (error !== null && error !== undefined) {
      if (FOR_GOOD.has(error.code ?? '')) this.#close(bytes);
      else this.#later(bytes);
      return;
    }
    const rest = bytes.subarray(taken);
    if (rest.length > 0) {
      this.#writing = rest;
      this.#send(rest);
      return;
    }
    this.#writing = undefined;
    const unreported = this.#unreported;
    this.#unreported = 0;
    if (unreported > 0) this.onResumed(unreported);
    if (this.#writing === undefined) this.#next();
  }

  #later(bytes: Buffer): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#send(bytes);
    }, AGAIN);
    this.#timer.unref();
  }

  #close(bytes: Buffer): void {
    this.#closed = true;
    this.#writing = undefined;
    this.#drop(bytes.toString().split('\n').length - 1 + this.#lines.length);
    this.#lines = [];
    this.#bytes = 0;
    this.#flushed?.();
  }

  #drop(lines: number): void {
    this.dropped += lines;
    this.#unreported += lines;
  }
}

/**
 * Node.js makes pipes and sockets non-blocking, so a stalled reader blocks nothing. A write to a file occupies one thread of the
 * pool until it ends.
 */
function sinkOf(descriptor: 1): Sink {
  const kind = fstatSync(descriptor);
  if (!kind.isFIFO() && !kind.isSocket())
    return { threaded: true, write: (bytes, done) => write(descriptor, bytes, 0, bytes.length, null, done) };
  // The write's callback receives the error too.
  process.stdout.on('error', () => {});
  return { threaded: false, write: (bytes, done) => void process.stdout.write(bytes, (error) => done(error, bytes.length)) };
}
