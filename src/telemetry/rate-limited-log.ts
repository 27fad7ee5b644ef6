import { RateLimiter } from '../limits/rate-limiter.ts';
import type { Logger } from './log.ts';
import { limitTable } from '../limits/table.ts';

const LINES = limitTable.logLines.value;

/** Limits log lines that any client can cause: a client of an open port must not fill a disk. Lines beyond are at debug. */
export class RateLimitedLog {
  readonly #log: Logger;
  readonly #clock: () => number;
  readonly #lines = new RateLimiter(LINES);
  /** Number of lines dropped since the last one that was written. */
  #withheld = 0;

  constructor(log: Logger, clock: () => number = Date.now) {
    this.#log = log;
    this.#clock = clock;
  }

  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#say('warn', fields, message);
  }

  error(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#say('error', fields, message);
  }

  info(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#say('info', fields, message);
  }

  /** Whether a full burst is available and no dropped lines are to be reported. */
  get isIdle(): boolean {
    return this.#withheld === 0 && this.#lines.isFull(this.#clock());
  }

  #say(level: 'error' | 'warn' | 'info', fields: Readonly<Record<string, unknown>>, message: string): void {
    if (!this.#lines.take(this.#clock())) {
      this.#withheld += 1;
      this.#log.debug(fields, message);
      return;
    }
    this.#log[level](this.#withheld === 0 ? fields : { ...fields, withheld: this.#withheld }, message);
    this.#withheld = 0;
  }
}
