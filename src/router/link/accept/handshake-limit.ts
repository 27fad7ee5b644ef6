import type { Socket } from 'node:net';
import { openFilesLimit, reserveWithin } from '../../../telemetry/open-files.ts';
import { FairPlaces } from '../../../work/fair-places.ts';
import { networkOf } from '../../../x509/network.ts';
import { bounded } from '../../../telemetry/boundary.ts';

/** TLS handshakes under way at once, of all and of one address: they are the work that anybody can ask for. */
const MOST = Math.min(512, reserveWithin(openFilesLimit()).strangers);
const MOST_OF_ADDRESS = Math.min(64, MOST);

/** Lets only so many handshakes run at once: for one more, the oldest of the address that has most of them is ended. */
export class HandshakeLimit {
  readonly #places = new FairPlaces<string>({ most: MOST, mostOfGroup: MOST_OF_ADDRESS });
  readonly #sockets = new Map<string, Socket>();

  /** @returns the address whose connection was closed for this one */
  begin(socket: Socket): string | undefined {
    const key = keyOf(socket);
    const ended = this.#places.enter(key, networkOf(socket.remoteAddress ?? ''));
    this.#sockets.set(key, socket);
    // A peer that leaves in the middle.
    const done = (): void => this.#done(key, socket);
    socket.once('close', bounded('connection/handshake-closed', done, done));
    const other = ended === undefined ? undefined : this.#sockets.get(ended);
    if (ended === undefined || other === undefined) return undefined;
    const address = other.remoteAddress ?? '';
    this.#done(ended, other);
    other.destroy();
    return address;
  }

  /** The handshake of this connection, of which TLS has made a socket of its own, is over. */
  end(socket: Socket): void {
    this.#done(keyOf(socket));
  }

  #done(key: string, socket = this.#sockets.get(key)): void {
    // Another connection may have the same address and port by now.
    if (this.#sockets.get(key) !== socket) return;
    this.#sockets.delete(key);
    this.#places.leave(key);
  }
}

const keyOf = (socket: Socket): string => `${socket.remoteAddress ?? ''} ${socket.remotePort ?? 0}`;
