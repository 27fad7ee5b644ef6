/** Milliseconds: a router that has gone is taken for one that serves clients for as long. */
const PATIENCE = 10_000;

/**
 * Routers that are not linked to each other are told of once that lasts: they come and go with each rollout. What is told then stands until
 * they are linked, though attempts may fail in more ways than one.
 */
export class PartitionDetector {
  readonly #clock: () => number;
  readonly #apart = new Map<string, { readonly since: number; words?: string }>();

  /** @param clock milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * @param apart what is to be said, by router
   * @returns what is to be said now, and the milliseconds after which more may be
   */
  told(apart: ReadonlyMap<string, string>): { readonly told: readonly string[]; readonly again?: number } {
    const now = this.#clock();
    for (const router of this.#apart.keys()) if (!apart.has(router)) this.#apart.delete(router);
    for (const [router, words] of apart) {
      const known = this.#apart.getOrInsertComputed(router, () => ({ since: now }));
      if (now - known.since >= PATIENCE) known.words ??= words;
    }
    const all = [...this.#apart.values()];
    const waits = all.flatMap(({ since, words }) => (words === undefined ? [PATIENCE - (now - since)] : []));
    return { told: all.flatMap(({ words = [] }) => words).sort(), ...(waits.length === 0 ? {} : { again: Math.min(...waits) }) };
  }
}
