import type { Logger } from './log.ts';

const BURST = 20;
const PER_SECOND = 1;

/** Lets only so many lines through that anybody can cause: who connects to an open port must not fill a disk. */
export class RateLimitedLog {
  readonly #log: Logger;
  readonly #clock: () => number;
  #left = BURST;
  #at: number;
  #withheld = 0;

  constructor(log: Logger, clock: () => number = Date.now) {
    this.#log = log;
    this.#clock = clock;
    this.#at = clock();
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

  /** It is as one that has just been made. */
  get isWhole(): boolean {
    this.#refill();
    return this.#left === BURST && this.#withheld === 0;
  }

  #refill(): void {
    const now = this.#clock();
    this.#left = Math.min(BURST, this.#left + (Math.max(0, now - this.#at) / 1_000) * PER_SECOND);
    this.#at = now;
  }

  #say(level: 'error' | 'warn' | 'info', fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#refill();
    if (this.#left < 1) {
      this.#withheld += 1;
      return;
    }
    this.#left -= 1;
    this.#log[level](this.#withheld === 0 ? fields : { ...fields, withheld: this.#withheld }, message);
    this.#withheld = 0;
  }
}
