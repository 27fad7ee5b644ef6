import type { Memory } from '../../memory/memory.ts';
import { FairShare } from '../../limits/fair-share.ts';
import type { EndReason } from '../connection-end.ts';
import type { ConnectionHalf } from '../connection-half.ts';

/** All current connections by their client half, with the number of sockets that each has or may still get. */
export class LiveConnections {
  readonly #sides = new Map<ConnectionHalf, { readonly share: string; readonly sockets: number }>();
  readonly #memory: Memory;
  readonly #sockets: FairShare;
  #empty: (() => void) | undefined;

  /** @param sockets maximum number of sockets in total */
  constructor(memory: Memory, sockets: number) {
    this.#memory = memory;
    this.#sockets = new FairShare(sockets);
  }

  get size(): number {
    return this.#sides.size;
  }

  /** Number of client and server sockets of all connections. Streams have none. */
  get sockets(): number {
    return this.#sockets.held.total;
  }

  socketsOf(share: string): number {
    return this.#sockets.held.of(share);
  }

  /** @param shares number of owners that may have connections */
  hasRoom(share: string, sockets: number, shares: number): boolean {
    const { held } = this.#sockets;
    const others = held.owners - (held.of(share) > 0 ? 1 : 0);
    return sockets === 0 || this.#sockets.hasRoom(share, sockets, others + 1 < shares);
  }

  add(side: ConnectionHalf, share: string, sockets: number): void {
    this.#sides.set(side, { share, sockets });
    this.#sockets.change(share, sockets);
    this.#memory.add(side);
  }

  /** Called when the connection has both its ends. */
  joined(side: ConnectionHalf): void {
    this.#memory.lookAt(side);
  }

  delete(side: ConnectionHalf): void {
    const known = this.#sides.get(side);
    if (known === undefined) return;
    this.#sides.delete(side);
    this.#sockets.change(known.share, -known.sockets);
    this.#memory.delete(side);
    if (this.#sides.size === 0) this.#empty?.();
  }

  /** Resolves when no connection is left, or after that many milliseconds. */
  async emptied(deadline: number): Promise<void> {
    if (this.#sides.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, deadline);
    this.#empty = resolve;
    await promise;
    clearTimeout(timer);
    this.#empty = undefined;
  }

  sever(isMeant: (side: ConnectionHalf) => boolean, reason: EndReason): void {
    for (const side of this.#sides.keys()) if (isMeant(side)) side.sever(reason);
  }

  severAll(reason: EndReason): void {
    this.sever(() => true, reason);
    for (const side of this.#sides.keys()) this.delete(side);
  }
}
