import type { Socket } from 'node:net';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import type { AdmissionSlots } from '../limits/admission-slots.ts';
import { bounded } from '../telemetry/boundary.ts';
import { networkOf } from '../x509/network.ts';
import type { HandshakePace } from './handshake-pace.ts';
import { handshakeScheduler, type Side } from './handshake-scheduler.ts';
import { limitKeyUpdates, type EndlessTlsError } from './key-updates.ts';
import { rejectRenegotiation } from './renegotiation.ts';
import { TcpByTls } from './tcp-by-tls.ts';
import { openTlsFeed } from './tls-feed.ts';

export interface TlsAcceptorOptions {
  /** Slots of connections; several ports may share them. */
  readonly slots: AdmissionSlots<Socket>;
  /** Name of this port in the slots' groups. If absent, an address has one group at all ports. */
  readonly port?: string;
  /** Phase in which a connection holds its slot. It may free the slot earlier (`release`). */
  readonly holds: 'handshake' | 'connection';
  /** Returns how the scheduler reads a new connection's handshake. Undefined: the system reads it. */
  readonly side: () => Side | undefined;
  /** Whether the servers speak no TLS before 1.3. */
  readonly only13: boolean;
  /** Limits how fast handshakes of one address start. If absent, they start at once. */
  readonly pace?: HandshakePace<Socket>;
  /** Called when a connection of this address is closed because a new one gets its slot. */
  onEvicted?(address: string): void;
  /** Called when a connection ends because its client updates keys without end. */
  onEndless(why: EndlessTlsError, socket: TLSSocket): void;
  /** Called when a connection ends because its client starts another handshake. Required if the servers speak TLS before 1.3. */
  onRenegotiation?(): void;
}

/**
 * Takes a port's connections to the end of their TLS handshakes: slot → pace → handshake, read by the scheduler → `secureConnection` of a TLS
 * server. The server gets a connection when its handshake starts, and does not listen itself.
 *
 * Invariant: a connection that waits for its handshake has a slot, since nothing else closes it.
 */
export class TlsAcceptor {
  readonly #options: TlsAcceptorOptions;
  readonly #raws = new TcpByTls();
  /** Network of each connection that has a slot. */
  readonly #networks = new Map<Socket, string>();

  constructor(options: TlsAcceptorOptions) {
    this.#options = options;
  }

  /** Limits what clients of the server may do. Must be called before other listeners are added to it. */
  protect(server: TlsServer): void {
    const { only13, holds, onEndless, onRenegotiation } = this.#options;
    openTlsFeed(server, only13);
    limitKeyUpdates(server, onEndless);
    const onSecure = (socket: TLSSocket): void => {
      if (onRenegotiation !== undefined) rejectRenegotiation(socket, onRenegotiation);
      if (holds === 'handshake') this.release(socket);
    };
    server.on(
      'secureConnection',
      bounded('connection/acceptor-secure', onSecure, (_, socket) => void socket.destroy()),
    );
  }

  /** @param server starts the handshake, now or soon, unless the connection ends before */
  accept(raw: Socket, server: TlsServer): void {
    if (!this.#raws.add(raw)) return;
    const { slots, port, side, pace } = this.#options;
    const network = networkOf(raw.remoteAddress ?? '');
    const read = side();
    this.#networks.set(raw, network);
    const closed = (): void => this.#leave(raw);
    raw.once('close', bounded('connection/acceptor-closed', closed, closed));
    const evicted = slots.enter(raw, port === undefined ? network : `${port} ${network}`);
    if (evicted !== undefined) this.#evict(evicted);
    if (pace === undefined) {
      this.#start(raw, server, network, read);
      return;
    }
    const start = (): void => this.#start(raw, server, network, read);
    pace.enter(
      raw,
      network,
      bounded('connection/acceptor-start', start, () => void raw.destroy()),
    );
  }

  /** The TCP connection below a TLS socket; undefined once it has closed. */
  below(socket: TLSSocket): Socket | undefined {
    return this.#raws.below(socket);
  }

  /** Called when the handshake has ended: the system reads the connection from now on. */
  endHandshake(socket: TLSSocket): void {
    const raw = this.below(socket);
    if (raw !== undefined) handshakeScheduler.end(raw);
  }

  /** Frees the slot, and lets the system read the connection from now on. */
  release(socket: TLSSocket): void {
    const raw = this.below(socket);
    if (raw === undefined) return;
    this.#leave(raw);
    handshakeScheduler.end(raw);
  }

  /** Closes all connections that have a slot. */
  closeUnreleased(): void {
    for (const raw of this.#networks.keys()) raw.destroy();
  }

  #start(raw: Socket, server: TlsServer, network: string, side: Side | undefined): void {
    server.emit('connection', raw);
    if (side !== undefined) handshakeScheduler.begin(raw, network, side);
  }

  #evict(raw: Socket): void {
    this.#options.onEvicted?.(raw.remoteAddress ?? '');
    raw.destroy();
    this.#leave(raw);
  }

  /** Frees the slot. No-op if absent. */
  #leave(raw: Socket): void {
    const network = this.#networks.get(raw);
    if (network === undefined) return;
    this.#networks.delete(raw);
    this.#options.slots.leave(raw);
    this.#options.pace?.leave(raw, network);
  }
}
