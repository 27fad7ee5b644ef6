/** Number of tokens in a full bucket, and number added each second. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** A token bucket (as in RFC 2697, with one rate). Clocks are in milliseconds; a clock that goes back adds no tokens. */
export class RateLimiter {
  readonly #rate: Rate;
  #tokens: number;
  #since = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Tokens at the last refill, with fractions. Below zero after `charge` or `reserve` took more than there were. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Adds the tokens since the last refill. @returns `tokens` */
  refill(clock: number): number {
    const { burst, perSecond } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, clock - this.#since) / 1000) * perSecond);
    this.#since = clock;
    return this.#tokens;
  }

  /** Number of whole tokens available. */
  left(clock: number): number {
    return Math.floor(this.refill(clock));
  }

  isFull(clock: number): boolean {
    return this.refill(clock) >= this.#rate.burst;
  }

  /** @returns false if no token is left */
  take(clock: number): boolean {
    if (this.refill(clock) < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes a token, in advance if none is left. @returns milliseconds until the token is available */
  reserve(clock: number): number {
    this.refill(clock);
    this.charge(1);
    return this.timeUntil(0);
  }

  /** Takes tokens even if there are too few. */
  charge(tokens: number): void {
    this.#tokens -= tokens;
  }

  /** Milliseconds from the last refill until that many tokens are available. */
  timeUntil(tokens: number): number {
    return this.#tokens >= tokens ? 0 : ((tokens - this.#tokens) / this.#rate.perSecond) * 1000;
  }

  /** Returns a token, unless there are `burst` already. */
  giveBack(): void {
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + 1);
  }
}

/** The same rate for each of many keys. A key without a limiter has a full burst. */
export class KeyedRateLimiter {
  readonly #rate: Rate;
  readonly #most: number;
  /** The least recently used first, if their number is bounded. */
  readonly #limiters = new Map<string, RateLimiter>();

  /** @param most number of keys; beyond it, the least recently used is evicted */
  constructor(rate: Rate, most = Infinity) {
    this.#rate = rate;
    this.#most = most;
  }

  /** Number of whole tokens available. */
  left(key: string, clock: number): number {
    return this.#limiters.get(key)?.left(clock) ?? this.#rate.burst;
  }

  /** @returns false if no token is left */
  take(key: string, clock: number): boolean {
    return this.#use(key).take(clock);
  }

  /** Takes a token, in advance if none is left. @returns milliseconds until the token is available */
  reserve(key: string, clock: number): number {
    return this.#use(key).reserve(clock);
  }

  delete(key: string): void {
    this.#limiters.delete(key);
  }

  /** Deletes the limiters that have a full burst. Call it periodically if the number of keys is unbounded. */
  evictFull(clock: number): void {
    for (const [key, limiter] of this.#limiters) if (limiter.isFull(clock)) this.#limiters.delete(key);
  }

  #use(key: string): RateLimiter {
    const known = this.#limiters.get(key);
    if (known !== undefined && this.#most === Infinity) return known;
    const limiter = known ?? new RateLimiter(this.#rate);
    this.#limiters.delete(key);
    this.#limiters.set(key, limiter);
    const [oldest] = this.#limiters.keys();
    if (this.#limiters.size > this.#most && oldest !== undefined) this.#limiters.delete(oldest);
    return limiter;
  }
}
