import { KeyedRateLimiter, RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import { networkOf } from '../x509/network.ts';

/** Limits checks of unknown tokens and passwords, so that those of one client refuse no user at another address. */
export class AttemptLimiter {
  readonly #ofAddress = new KeyedRateLimiter(limitTable.consoleAttemptsOfAddress.value, limitTable.consoleAttemptAddresses.value);
  readonly #ofAll = new RateLimiter(limitTable.consoleAttempts.value);

  /** @returns false if the client has to wait */
  take(address: string, now: number): boolean {
    return this.#ofAddress.take(networkOf(address), now) && this.#ofAll.take(now);
  }
}
