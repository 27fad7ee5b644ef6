export interface KeyedLimitsOptions<L> {
  readonly create: () => L;
  /** Whether the limit is as if it had just been created. */
  readonly isIdle: (limit: L, clock: number) => boolean;
  /** Number of keys from which on idle limits are evicted. */
  readonly most: number;
}

/** A limit for each key, created at first use. A key that returns finds its limit as it left it, since only idle ones are evicted. */
export class KeyedLimits<L> {
  readonly #options: KeyedLimitsOptions<L>;
  readonly #limits = new Map<string, L>();

  constructor(options: KeyedLimitsOptions<L>) {
    this.#options = options;
  }

  find(key: string): L | undefined {
    return this.#limits.get(key);
  }

  /** Whether there are fewer than `most`, after idle ones are evicted. */
  hasCapacity(clock: number): boolean {
    const { isIdle, most } = this.#options;
    if (this.#limits.size >= most) for (const [key, limit] of this.#limits) if (isIdle(limit, clock)) this.#limits.delete(key);
    return this.#limits.size < most;
  }

  /** Creates it if absent, also beyond `most` if none is idle. */
  of(key: string, clock: number): L {
    const known = this.#limits.get(key);
    if (known !== undefined) return known;
    this.hasCapacity(clock);
    const created = this.#options.create();
    this.#limits.set(key, created);
    return created;
  }
}
