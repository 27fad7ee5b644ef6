import type { StreamReset } from '../http2/contract.ts';
import type { Side } from '../side.ts';

/** The connections that are there, each by its client's side, with the sockets that it has or may yet get. */
export class LiveConnections {
  readonly #sides = new Map<Side, number>();
  #sockets = 0;
  #empty: (() => void) | undefined;

  get size(): number {
    return this.#sides.size;
  }

  /** Of all of them: clients' and servers'. Streams have none. */
  get sockets(): number {
    return this.#sockets;
  }

  add(side: Side, sockets: number): void {
    this.#sides.set(side, sockets);
    this.#sockets += sockets;
  }

  delete(side: Side): void {
    const sockets = this.#sides.get(side);
    if (sockets === undefined) return;
    this.#sides.delete(side);
    this.#sockets -= sockets;
    if (this.#sides.size === 0) this.#empty?.();
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
    for (const side of this.#sides.keys()) if (isMeant(side)) side.sever(reason);
  }

  severAll(reason: StreamReset): void {
    this.sever(() => true, reason);
    this.#sides.clear();
    this.#sockets = 0;
  }
}
