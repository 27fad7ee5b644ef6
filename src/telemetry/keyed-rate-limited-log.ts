import { KeyedLimits } from '../limits/keyed-limits.ts';
import type { Logger } from './log.ts';
import { RateLimitedLog } from './rate-limited-log.ts';
import { limitTable } from '../limits/table.ts';

/** Far more than the number of sites linked at once. */
const MOST = limitTable.logPeers.value;

/** A rate-limited log for each peer that can cause log lines. If `MOST` peers logged recently, further ones share one limit. */
export class KeyedRateLimitedLog {
  readonly #clock: () => number;
  readonly #logs: KeyedLimits<RateLimitedLog>;
  readonly #others: RateLimitedLog;

  /** @param clock time in milliseconds */
  constructor(log: Logger, clock: () => number = Date.now) {
    const create = (): RateLimitedLog => new RateLimitedLog(log, clock);
    this.#clock = clock;
    this.#logs = new KeyedLimits({ create, isIdle: ({ isIdle }) => isIdle, most: MOST });
    this.#others = create();
  }

  of(peer: string): RateLimitedLog {
    const known = this.#logs.find(peer);
    if (known !== undefined) return known;
    const now = this.#clock();
    return this.#logs.hasCapacity(now) ? this.#logs.of(peer, now) : this.#others;
  }
}
