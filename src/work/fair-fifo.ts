import { Fifo } from './fifo.ts';

/** Whoever has several in a line. */
export interface InTurnOf {
  readonly turn: string;
}

/** First in, first out for each, and one after the other of those who have any: however many one has there, others wait for one of them each. */
export class FairFifo<T extends InTurnOf> {
  /** Whose turn it is comes first; none is empty. */
  readonly #lines = new Fifo<Line<T>>();
  readonly #byTurn = new Map<string, Line<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Undefined where there is none. */
  get first(): T | undefined {
    return this.#lines.first?.items.first;
  }

  push(item: T): void {
    this.#size += 1;
    const { turn } = item;
    const known = this.#byTurn.get(turn);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const line = { turn, items: new Fifo<T>() };
    line.items.push(item);
    this.#byTurn.set(turn, line);
    this.#lines.push(line);
  }

  /** The first; the next one is another's, where there is one. */
  shift(): T | undefined {
    const line = this.#lines.shift();
    if (line === undefined) return undefined;
    this.#size -= 1;
    const item = line.items.shift();
    if (line.items.size > 0) this.#lines.push(line);
    else this.#byTurn.delete(line.turn);
    return item;
  }

  /** Leaves out the others. */
  keep(isKept: (item: T) => boolean): void {
    this.#size = 0;
    for (const [turn, { items }] of this.#byTurn) {
      items.keep(isKept);
      this.#size += items.size;
      if (items.size === 0) this.#byTurn.delete(turn);
    }
    this.#lines.keep(({ items }) => items.size > 0);
  }

  clear(): void {
    this.#lines.clear();
    this.#byTurn.clear();
    this.#size = 0;
  }
}

interface Line<T> {
  readonly turn: string;
  readonly items: Fifo<T>;
}
