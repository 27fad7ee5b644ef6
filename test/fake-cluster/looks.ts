import type { Loop } from '../simulate/loop.ts';

/** Keys that one of Kubernetes' own controllers will look at, each once, a while after it heard of a change. */
export class Looks {
  readonly #loop: Loop;
  readonly #delay: () => number;
  readonly #look: (key: string) => void;
  readonly #asked = new Set<string>();

  /** A scan that throws is tried again. */
  constructor(loop: Loop, delay: () => number, look: (key: string) => void) {
    this.#loop = loop;
    this.#delay = delay;
    this.#look = look;
  }

  /** @param pause after a failure; else it takes what it takes */
  ask(key: string, pause?: number): void {
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    const look = (): void => {
      this.#asked.delete(key);
      try {
        this.#look(key);
      } catch {
        this.ask(key, 500);
      }
    };
    this.#loop.after(pause ?? this.#delay(), undefined, look, pause === undefined ? 'world' : 'timer');
  }
}
