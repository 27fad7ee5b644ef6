/** Runs tasks of one key one after another, in the order of their coming; those of different keys at once. */
export class Serial {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const forget = (): void => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    };
    const settled: Promise<void> = result.then(forget, forget);
    this.#last.set(key, settled);
    return result;
  }

  /** Resolves once no task is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
