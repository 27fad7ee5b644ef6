/** Milliseconds: a router that has gone is taken for one that serves clients for as long. */
const PATIENCE = 10_000;

/** Routers that are not linked to each other are told of once that lasts: they come and go with each rollout. */
export class LastingApart {
  readonly #clock: () => number;
  readonly #since = new Map<string, number>();

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
    for (const router of this.#since.keys()) if (!apart.has(router)) this.#since.delete(router);
    for (const router of apart.keys()) if (!this.#since.has(router)) this.#since.set(router, now);
    const left = [...this.#since.values()].map((since) => PATIENCE - (now - since)).filter((wait) => wait > 0);
    const told = [...apart].filter(([router]) => now - (this.#since.get(router) ?? now) >= PATIENCE).map(([, words]) => words);
    return { told: told.sort(), ...(left.length === 0 ? {} : { again: Math.min(...left) }) };
  }
}
