import type { Logger } from './log.ts';
import { RateLimitedLog } from './rate-limited-log.ts';

/** Far more than are linked at once. Beyond them those that have written nothing for a while are forgotten; where there are none, whoever comes shares a ration with all others who do. */
const MOST = 1_024;

/** A ration of log lines for each of those who can cause them: one who causes thousands takes nobody else's. */
export class KeyedRateLimitedLog {
  readonly #log: Logger;
  readonly #clock: (() => number) | undefined;
  readonly #byWhom = new Map<string, RateLimitedLog>();
  readonly #others: RateLimitedLog;

  /** @param clock milliseconds; the system's where left out */
  constructor(log: Logger, clock?: () => number) {
    this.#log = log;
    this.#clock = clock;
    this.#others = new RateLimitedLog(log, clock);
  }

  of(whom: string): RateLimitedLog {
    const known = this.#byWhom.get(whom);
    if (known !== undefined) return known;
    if (this.#byWhom.size >= MOST) for (const [name, ration] of this.#byWhom) if (ration.isWhole) this.#byWhom.delete(name);
    if (this.#byWhom.size >= MOST) return this.#others;
    const made = new RateLimitedLog(this.#log, this.#clock);
    this.#byWhom.set(whom, made);
    return made;
  }
}
