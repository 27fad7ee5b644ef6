/** Milliseconds: a Link may be deleted and applied again, and its key exists nowhere else. */
export const UNUSED_FOR = 3_600_000;

/** Which bundles of tokens no resource has named for a while: they hold private keys that serve nothing any more. */
export class UnusedBundles {
  /** By name. */
  readonly #since = new Map<string, number>();

  /**
   * @param made bundles that Earshot wrote for tokens
   * @param inUse names that are kept; undefined: something stored cannot be read, so any name may be in use
   * @returns those to remove now, and when the next one is
   */
  find(
    made: Iterable<string>,
    inUse: ReadonlySet<string> | undefined,
    now: number,
  ): { readonly unused: readonly string[]; readonly due?: number } {
    const waiting = new Set(inUse === undefined ? [] : [...made].filter((name) => !inUse.has(name)));
    for (const name of this.#since.keys()) if (!waiting.has(name)) this.#since.delete(name);
    const due = new Map([...waiting].map((name) => [name, this.#since.getOrInsert(name, now) + UNUSED_FOR]));
    const later = [...due.values()].filter((time) => time > now);
    const unused = [...due].flatMap(([name, time]) => (time <= now ? [name] : []));
    return { unused, ...(later.length === 0 ? {} : { due: Math.min(...later) }) };
  }
}
