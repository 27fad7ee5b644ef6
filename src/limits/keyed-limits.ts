export interface KeyedLimitsOptions<L> {
  readonly create: () => L;
  /** Whether the limit is as if it had just been created. */
  readonly isIdle: (limit: L, clock: number) => boolean;
  /** Number of keys at which idle limits are evicted. */
  readonly most: number;
}

/** A limit for each key, created at first use. Only idle limits are evicted, so a key that returns finds its limit unchanged. */
export class KeyedLimits<L> {
  readonly #options: KeyedLimitsOptions<L>;
  readonly #limits = new Map<string, L>();

  constructor(options: KeyedLimitsOptions<L>) {
    this.#options = options;
  }

  find(key: string): L | undefined {
    return this.#limits.get(key);
  }

  /** Whether there is capacity for another key, after idle limits are evicted. */
  hasCapacity(clock: number): boolean {
    const { isIdle, most } = this.#options;
    if (this.#limits.size >= most) for (const [key, limit] of this.#limits) if (isIdle(limit, clock)) this.#limits.delete(key);
    return this.#limits.size < most;
  }

  /** Creates the limit if absent, even beyond `most` if no limit is idle. */
  of(key: string, clock: number): L {
    const known = this.#limits.get(key);
    if (known !== undefined) return known;
    this.hasCapacity(clock);
    const created = this.#options.create();
    this.#limits.set(key, created);
    return created;
  }
}
