import { fstatSync, write } from 'node:fs';
import { limitTable } from '../limits/table.ts';

/** The one of this process: standard output. */
export function standardOutput(): LogDestination {
  shared ??= new LogDestination(sinkOf(1));
  return shared;
}

/** Undefined where this process has logged nothing. */
export const destinationInUse = (): LogDestination | undefined => shared;

let shared: LogDestination | undefined;

export interface Sink {
  /** Tells how many bytes it took, or why none. `done` is called once, never within the call. */
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null | undefined, taken: number) => void): void;
  /** A write takes a thread for as long as it takes. */
  readonly threaded: boolean;
}

/** Bytes that wait for a full disk or a reader that stands still; what is logged beyond them is dropped and counted. */
const MOST = limitTable.logBytes.value;
/** Milliseconds until what could not be written is tried again. */
const AGAIN = 1_000;
/** Nobody will ever read again. */
const FOR_GOOD: ReadonlySet<string> = new Set(['EPIPE', 'EBADF', 'ERR_STREAM_DESTROYED']);

/**
 * Where log lines go: never waited for, and never the reason that something else waits or ends. One write is under way at a time; lines that
 * come meanwhile follow together.
 */
export class LogDestination {
  /** Lines that nobody will see. */
  dropped = 0;
  /** Told with the number of lines dropped, once lines are written again. */
  onResumed: (dropped: number) => void = () => {};
  readonly #sink: Sink;
  readonly #most: number;
  #lines: string[] = [];
  #bytes = 0;
  #writing: Buffer | undefined;
  #untold = 0;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #flushed: (() => void) | undefined;

  constructor(sink: Sink, most = MOST) {
    this.#sink = sink;
    this.#most = most;
  }

  /** Bytes that wait. */
  get waiting(): number {
    return this.#bytes + (this.#writing?.length ?? 0);
  }

  /** A thread stands in a write that has not come back. */
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

  /** Resolves with whether everything was written, after so many milliseconds at most. */
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
    const untold = this.#untold;
    this.#untold = 0;
    if (untold > 0) this.onResumed(untold);
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
    this.#untold += lines;
  }
}

/**
 * Node.js makes pipes and sockets non-blocking, so that a reader that stands still holds nobody; a file's writes hold one thread of the pool
 * for as long as they take.
 */
function sinkOf(descriptor: 1): Sink {
  const kind = fstatSync(descriptor);
  if (!kind.isFIFO() && !kind.isSocket())
    return { threaded: true, write: (bytes, done) => write(descriptor, bytes, 0, bytes.length, null, done) };
  // It comes to whoever writes, too.
  process.stdout.on('error', () => {});
  return { threaded: false, write: (bytes, done) => void process.stdout.write(bytes, (error) => done(error, bytes.length)) };
}
