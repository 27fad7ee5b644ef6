import type { Socket } from 'node:net';
import { bounded } from '../telemetry/boundary.ts';

/**
 * The TCP connections below TLS sockets. TLS wraps a connection in its own socket and does not expose it. The peer's address and port
 * identify it, since no other connection to this address can have them at the same time.
 *
 * Invariant: each of them had an address when it was added. A connection that its peer has already reset has none, and such connections
 * could not be distinguished.
 */
export class TcpByTls {
  readonly #byPeer = new Map<string, Socket>();

  /** Adds a connection until it closes. @returns false if the peer has already reset it; then it is destroyed */
  add(raw: Socket): boolean {
    const peer = peerOf(raw);
    if (peer === undefined) {
      raw.destroy();
      return false;
    }
    this.#byPeer.set(peer, raw);
    const forget = (): void => {
      // Another connection may have the same address and port by now.
      if (this.#byPeer.get(peer) === raw) this.#byPeer.delete(peer);
    };
    raw.once('close', bounded('connection/raw-closed', forget, forget));
    return true;
  }

  /** @returns undefined if the connection has ended */
  below(tls: Socket): Socket | undefined {
    const peer = peerOf(tls);
    return peer === undefined ? undefined : this.#byPeer.get(peer);
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
