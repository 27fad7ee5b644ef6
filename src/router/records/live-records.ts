import { FIGURES, type Figures } from './figures.ts';

/** Number of connections in a page of figures. */
const OF_PAGE = 512;

/**
 * Slots of live connections. A cursor is the index of a slot, so a list goes on where it stopped, however many come and go meanwhile.
 */
export class LiveRecords<T> {
  readonly #slots: (T | undefined)[] = [];
  readonly #pages: Float64Array[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** @returns index of its slot */
  add(connection: T): number {
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = connection;
    const { page, at } = this.figures(slot);
    page.fill(0, at, at + FIGURES);
    return slot;
  }

  /** The slot may be used again at once. */
  delete(slot: number): void {
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    if (this.#free.length < this.#slots.length) return;
    this.#slots.length = 0;
    this.#free.length = 0;
    this.#pages.length = 0;
  }

  figures(slot: number): Figures {
    const number = Math.floor(slot / OF_PAGE);
    const page = (this.#pages[number] ??= new Float64Array(OF_PAGE * FIGURES));
    return { page, at: (slot % OF_PAGE) * FIGURES };
  }

  /** Connections from a slot on, with their slots. */
  *from(slot: number, most: number): Generator<readonly [slot: number, connection: T | undefined]> {
    const end = Math.min(this.#slots.length, slot + most);
    for (let at = slot; at < end; at += 1) yield [at, this.#slots[at]];
  }

  /** Index behind the last slot. */
  get end(): number {
    return this.#slots.length;
  }
}
