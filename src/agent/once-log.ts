/** Says each thing once, as passes come every few seconds; bounded, since what is said may change for ever. */
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
