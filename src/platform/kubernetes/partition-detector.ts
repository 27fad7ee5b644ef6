/** Milliseconds. A router that has ended counts as serving for as long. */
const PATIENCE = 10_000;

/**
 * Detects partitioned routers. They are reported only after a while, since routers come and go with each rollout. A report then stays the
 * same until the routers are linked, even if the cause of failed attempts changes.
 */
export class PartitionDetector {
  readonly #clock: () => number;
  readonly #apart = new Map<string, { readonly since: number; words?: string }>();

  /** @param clock returns milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * @param apart message by router
   * @returns the messages to show now, and the milliseconds after which there may be more
   */
  report(apart: ReadonlyMap<string, string>): { readonly messages: readonly string[]; readonly again?: number } {
    const now = this.#clock();
    for (const router of this.#apart.keys()) if (!apart.has(router)) this.#apart.delete(router);
    for (const [router, words] of apart) {
      const known = this.#apart.getOrInsertComputed(router, () => ({ since: now }));
      if (now - known.since >= PATIENCE) known.words ??= words;
    }
    const all = [...this.#apart.values()];
    const waits = all.flatMap(({ since, words }) => (words === undefined ? [PATIENCE - (now - since)] : []));
    return { messages: all.flatMap(({ words = [] }) => words).sort(), ...(waits.length === 0 ? {} : { again: Math.min(...waits) }) };
  }
}
