/** A token bucket: so much at once, so much more each second. */
export class Budget {
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #now: () => number;
  #left: number;
  #since: number;

  /** @param now milliseconds, monotonic */
  constructor(limits: { readonly burst: number; readonly perSecond: number }, now: () => number) {
    this.#burst = limits.burst;
    this.#perSecond = limits.perSecond;
    this.#now = now;
    this.#left = limits.burst;
    this.#since = now();
  }

  /** @returns false where nothing is left */
  take(): boolean {
    const now = this.#now();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#since) / 1000) * this.#perSecond);
    this.#since = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  /** Gives one back, for work that was worth it. */
  earn(): void {
    this.#left = Math.min(this.#burst, this.#left + 1);
  }
}
