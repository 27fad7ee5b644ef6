/** Runs tasks of one key one after another, in the order of their coming; those of different keys at once. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** What the task throws is its caller's alone. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const forget = (): void => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    };
    const ended: Promise<void> = result.then(forget, forget);
    this.#last.set(key, ended);
    return result;
  }

  /** Resolves once no task is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
