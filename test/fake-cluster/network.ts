import type { Random } from '../simulate/random.ts';

/** How long things are under way. */
export class Network {
  /** Milliseconds one way, of most messages. */
  usual = 2;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Now and then one takes ten times as long. */
  delay(): number {
    return this.usual * (0.5 + this.#random.unit()) * (this.#random.chance(0.02) ? 10 : 1);
  }
}
