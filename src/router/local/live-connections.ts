import type { StreamReset } from '../http2/contract.ts';
import type { Side } from './side.ts';

/** The connections that are there, each by its client's side. */
export class LiveConnections {
  readonly #sides = new Set<Side>();
  #empty: (() => void) | undefined;

  get size(): number {
    return this.#sides.size;
  }

  add(side: Side): void {
    this.#sides.add(side);
  }

  delete(side: Side): void {
    if (this.#sides.delete(side) && this.#sides.size === 0) this.#empty?.();
  }

  /** Resolves when none is left, or after so many milliseconds. */
  async emptied(deadline: number): Promise<void> {
    if (this.#sides.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, deadline);
    this.#empty = resolve;
    await promise;
    clearTimeout(timer);
    this.#empty = undefined;
  }

  sever(isMeant: (side: Side) => boolean, reason: StreamReset): void {
    for (const side of this.#sides) if (isMeant(side)) side.sever(reason);
  }

  severAll(reason: StreamReset): void {
    for (const side of this.#sides) side.sever(reason);
    this.#sides.clear();
  }
}
