import type { Socket } from 'node:net';

/** TLS handshakes under way at once, of all and of one address: they are the work that anybody can ask for. */
const MOST = 512;
const MOST_OF_ADDRESS = 64;

/** Lets only so many handshakes run at once; further connections are closed unanswered. */
export class HandshakeLimit {
  readonly #running = new Map<string, string>();
  readonly #ofAddress = new Map<string, number>();

  /** @returns false where the connection was closed instead */
  begin(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const key = keyOf(socket);
    const open = this.#ofAddress.get(address) ?? 0;
    if (this.#running.size >= MOST || open >= MOST_OF_ADDRESS) {
      socket.destroy();
      return false;
    }
    this.#running.set(key, address);
    this.#ofAddress.set(address, open + 1);
    // A peer that leaves in the middle.
    socket.once('close', () => this.#done(key));
    return true;
  }

  /** The handshake of this connection, of which TLS has made a socket of its own, is over. */
  end(socket: Socket): void {
    this.#done(keyOf(socket));
  }

  #done(key: string): void {
    const address = this.#running.get(key);
    if (address === undefined) return;
    this.#running.delete(key);
    const open = (this.#ofAddress.get(address) ?? 1) - 1;
    if (open === 0) this.#ofAddress.delete(address);
    else this.#ofAddress.set(address, open);
  }
}

const keyOf = (socket: Socket): string => `${socket.remoteAddress ?? ''} ${socket.remotePort ?? 0}`;
