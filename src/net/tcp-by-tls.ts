import type { Socket } from 'node:net';
import { bounded } from '../telemetry/boundary.ts';

/**
 * The TCP connections below TLS sockets. TLS makes a socket of its own of a connection, and does not say of which; the peer's address and port do,
 * since no other connection to this address can have them meanwhile.
 *
 * Invariant: each of them had an address when it came. One that its peer has reset by then has none, as all others like it, which would be taken
 * for each other.
 */
export class TcpByTls {
  readonly #byPeer = new Map<string, Socket>();

  /** Until it closes. @returns whether there is anybody at its other end: where not, it has been destroyed */
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

  /** @returns undefined where the connection has ended */
  below(tls: Socket): Socket | undefined {
    const peer = peerOf(tls);
    return peer === undefined ? undefined : this.#byPeer.get(peer);
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
