import type { Socket } from 'node:net';
import { openFilesLimit, reserveWithin } from '../../../telemetry/open-files.ts';
import { FairPlaces } from '../../../work/fair-places.ts';
import { HandshakePace } from '../../../work/handshake-pace.ts';
import { networkOf } from '../../../x509/network.ts';
import { bounded } from '../../../telemetry/boundary.ts';

/** TLS handshakes under way at once, of all and of one address: they are the work that anybody can ask for. */
const MOST = Math.min(512, reserveWithin(openFilesLimit()).strangers);
const MOST_OF_ADDRESS = Math.min(64, MOST);

/** Lets only so many handshakes run at once: for one more, the oldest of the address that has most of them is ended. */
export class HandshakeLimit {
  readonly #places = new FairPlaces<string>({ most: MOST, mostOfGroup: MOST_OF_ADDRESS });
  readonly #connections = new Map<string, { readonly socket: Socket; readonly network: string }>();
  readonly #pace = new HandshakePace<Socket>();

  /**
   * A connection that its peer has reset before it was accepted has no address any more, and Node.js tells nobody that it is over: it is closed.
   * @param start begins the handshake; called now or soon, unless the connection has ended before
   * @returns the address whose connection was closed for this one
   */
  begin(socket: Socket, start: () => void): string | undefined {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) {
      socket.destroy();
      return undefined;
    }
    const key = keyOf(socket);
    const network = networkOf(remoteAddress);
    const ended = this.#places.enter(key, network);
    this.#connections.set(key, { socket, network });
    // A peer that leaves in the middle.
    const done = (): void => this.#done(key, socket);
    socket.once('close', bounded('connection/handshake-closed', done, done));
    const closed = ended === undefined ? undefined : this.#close(ended);
    this.#pace.enter(socket, network, start);
    return closed;
  }

  /** The handshake of this connection, of which TLS has made a socket of its own, is over. */
  end(socket: Socket): void {
    this.#done(keyOf(socket));
  }

  #close(key: string): string | undefined {
    const socket = this.#connections.get(key)?.socket;
    if (socket === undefined) return undefined;
    const address = socket.remoteAddress ?? '';
    this.#done(key, socket);
    socket.destroy();
    return address;
  }

  /** @param socket where another connection may have the same address and port by now */
  #done(key: string, socket?: Socket): void {
    const found = this.#connections.get(key);
    if (found === undefined || (socket !== undefined && found.socket !== socket)) return;
    this.#connections.delete(key);
    this.#places.leave(key);
    this.#pace.leave(found.socket, found.network);
  }
}

const keyOf = (socket: Socket): string => `${socket.remoteAddress ?? ''} ${socket.remotePort ?? 0}`;
