/** Milliseconds. A Link may be deleted and applied again, and the key in its bundle has no other copy. */
export const UNUSED_FOR = 3_600_000;

/** Finds bundles of tokens that no resource has referred to for a while. They hold private keys that nothing needs. */
export class UnusedBundles {
  /** Time since when a bundle is unused, by name. */
  readonly #since = new Map<string, number>();

  /**
   * @param made bundles that Earshot wrote for tokens
   * @param inUse names to keep; undefined if a stored resource is unreadable, since any name may be in use
   * @returns the bundles to remove now, and when the next one is due
   */
  find(
    created: Iterable<string>,
    inUse: ReadonlySet<string> | undefined,
    now: number,
  ): { readonly unused: readonly string[]; readonly due?: number } {
    const waiting = new Set(inUse === undefined ? [] : [...created].filter((name) => !inUse.has(name)));
    for (const name of this.#since.keys()) if (!waiting.has(name)) this.#since.delete(name);
    const due = new Map([...waiting].map((name) => [name, this.#since.getOrInsert(name, now) + UNUSED_FOR]));
    const later = [...due.values()].filter((time) => time > now);
    const unused = [...due].flatMap(([name, time]) => (time <= now ? [name] : []));
    return { unused, ...(later.length === 0 ? {} : { due: Math.min(...later) }) };
  }
}
