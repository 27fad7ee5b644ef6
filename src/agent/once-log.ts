/** Logs each message once, since reconciles repeat every few seconds. Bounded, because messages may vary without end. */
export class OnceLog {
  readonly #said = new Set<string>();

  say(key: string, log: () => void): void {
    if (this.#said.has(key)) return;
    if (this.#said.size >= MOST_KEPT) this.#said.clear();
    this.#said.add(key);
    log();
  }
}

const MOST_KEPT = 1000;
