import { constants } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import type { Problem, TlsBundle } from '../contract.ts';
import { backoffDelay } from '../../work/backoff.ts';
import { hostPort, type HostPort } from '../host-port.ts';
import { codeOf, keepAlive } from './connect.ts';
import { EVERYWHERE } from './listening-table.ts';
import { resetSocket } from './socket-endpoint.ts';
import type { AdmissionSlots } from '../../limits/admission-slots.ts';
import { handshakeScheduler } from '../../net/handshake-scheduler.ts';
import { rejectRenegotiation } from '../../net/renegotiation.ts';
import { limitKeyUpdates } from '../../net/key-updates.ts';
import { TcpByTls } from '../../net/tcp-by-tls.ts';
import { openTlsFeed } from '../../net/tls-feed.ts';
import { networkOf } from '../../x509/network.ts';
import { limitTable } from '../../limits/table.ts';

const BACKLOG = 1024;

export interface ListeningOptions {
  /** Milliseconds that a client has for the TLS handshake. */
  readonly handshake: number;
  /** Of TLS handshakes that are under way, at all listeners. */
  readonly handshakes: AdmissionSlots<Socket>;
  readonly first: number;
  readonly most: number;
  readonly random: () => number;
  readonly portOwner: (port: number) => string | undefined;
  /** Several routers may listen at this address together (SO_REUSEPORT). */
  readonly shared: boolean;
  /** `raw` is the TCP socket below a TLS socket, or the socket itself. */
  onSocket(socket: Socket, raw: Socket): void;
  onRefused(reason: 'handshake' | 'busy', error: Error): void;
  /** The system had nothing left to accept a client with. */
  onNotAccepted(address: HostPort, code: string): void;
  onChange(): void;
}

type State =
  | { readonly kind: 'opening' | 'listening'; readonly server: Server }
  | { readonly kind: 'waiting'; readonly timer: NodeJS.Timeout }
  | { readonly kind: 'closed' };

/** One socket that listens, or tries to until it can: opening → listening, or waiting → opening; closed is the end. */
export class ListeningSocket {
  readonly address: HostPort;
  readonly #options: ListeningOptions;
  #tls: TlsBundle | undefined;
  #state: State = { kind: 'closed' };
  #failures = 0;
  /** Clients in their handshakes. */
  readonly #begun = new Set<Socket>();
  #problem: Problem | undefined;
  /** Who has the port, when it was last looked for. */
  #owner: string | undefined;

  constructor(address: HostPort, tls: TlsBundle | undefined, options: ListeningOptions) {
    this.address = address;
    this.#tls = tls;
    this.#options = options;
    this.#open();
  }

  get listening(): boolean {
    return this.#state.kind === 'listening';
  }

  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** New certificates, for connections from now on. Whether there is TLS at all cannot change. */
  setTls(tls: TlsBundle): void {
    this.#tls = tls;
    const state = this.#state;
    if (state.kind !== 'opening' && state.kind !== 'listening') return;
    if ('setSecureContext' in state.server && typeof state.server.setSecureContext === 'function') {
      state.server.setSecureContext(contextOptions(tls));
    }
  }

  /** Stops listening; connections stay. Who is still in a handshake would come too late: a process that ends is not to wait for that. */
  close(): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    if (state.kind === 'waiting') clearTimeout(state.timer);
    else if (state.kind !== 'closed') state.server.close();
    for (const raw of this.#begun) raw.destroy();
  }

  #open(): void {
    const server = this.#tls === undefined ? this.#plainServer() : this.#tlsServer(this.#tls);
    this.#state = { kind: 'opening', server };
    const failed = (error: unknown): void => this.#failed(server, error);
    server.on('error', bounded('listener/error', failed, failed));
    server.once(
      'listening',
      bounded('listener/listening', () => this.#opened(server), failed),
    );
    const { host, port } = this.address;
    server.listen({ ...(host === EVERYWHERE ? {} : { host }), port, backlog: BACKLOG, reusePort: this.#options.shared });
  }

  #plainServer(): Server {
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
    const onSocket = (socket: Socket): void => {
      keepAlive(socket);
      this.#options.onSocket(socket, socket);
    };
    server.on(
      'connection',
      bounded('connection/accepted', onSocket, (_, socket) => resetSocket(socket, socket)),
    );
    return server;
  }

  #tlsServer(tls: TlsBundle): Server {
    const raws = new TcpByTls();
    const { handshakes } = this.#options;
    const requestCert = tls.ca !== undefined;
    const server = createTlsServer({
      ...contextOptions(tls),
      allowHalfOpen: true,
      noDelay: true,
      handshakeTimeout: this.#options.handshake,
      requestCert,
      rejectUnauthorized: requestCert,
    });
    openTlsFeed(server);
    limitKeyUpdates(server, (why) => this.#options.onRefused('handshake', why));
    const onRaw = (raw: Socket): void => {
      keepAlive(raw);
      const destroy = (): void => void raw.destroy();
      raw.on('error', bounded('connection/tls-raw-error', destroy, destroy));
      if (!raws.add(raw)) return;
      this.#begun.add(raw);
      const leave = (): void => this.#left(raw);
      raw.once('close', bounded('connection/tls-raw-close', leave, leave));
      const network = networkOf(raw.remoteAddress ?? '');
      if (requestCert) handshakeScheduler.begin(raw, network);
      else if (handshakes.size >= FEW_HANDSHAKES) handshakeScheduler.begin(raw, network, 'unknown');
      const ended = handshakes.enter(raw, `${hostPort(this.address)} ${network}`);
      if (ended === undefined) return;
      this.#options.onRefused('busy', new Error('too many TLS handshakes are under way'));
      ended.destroy();
    };
    const onSecure = (socket: TLSSocket): void => {
      const raw = raws.below(socket);
      if (raw === undefined) {
        socket.destroy();
        return;
      }
      this.#left(raw);
      rejectRenegotiation(socket, () => this.#options.onRefused('handshake', new Error('the client asks for another TLS handshake')));
      handshakeScheduler.end(raw);
      // OpenSSL tells of the end of a handshake in the midst of its work: who reset the connection there would free what it works on.
      const handOn = (): void => {
        if (raw.destroyed) return;
        // It may have stopped in this very turn.
        if (this.#state.kind === 'closed') socket.destroy();
        else this.#options.onSocket(socket, raw);
      };
      setImmediate(bounded('connection/tls-accepted', handOn, () => void socket.destroy()));
    };
    const onFailure = (error: Error, socket: TLSSocket): void => {
      this.#options.onRefused('handshake', error);
      // One that was too slow is still there: Node.js only tells of it.
      socket.destroy();
    };
    server.on(
      'connection',
      bounded('connection/tls-begin', onRaw, (_, raw) => void raw.destroy()),
    );
    server.on(
      'secureConnection',
      bounded('connection/tls-secure', onSecure, (_, socket) => void socket.destroy()),
    );
    server.on(
      'tlsClientError',
      bounded('connection/tls-failed', onFailure, (_, __, socket) => void socket.destroy()),
    );
    return server;
  }

  /** Its handshake is over, one way or another. */
  #left(raw: Socket): void {
    this.#begun.delete(raw);
    this.#options.handshakes.leave(raw);
  }

  #opened(server: Server): void {
    if (this.#state.kind !== 'opening' || this.#state.server !== server) return;
    this.#state = { kind: 'listening', server };
    this.#failures = 0;
    this.#problem = undefined;
    this.#options.onChange();
  }

  /** Also after it has listened (too many open files at an accept): then it goes on as it is. */
  #failed(server: Server, error: unknown): void {
    if (this.#state.kind === 'listening' && this.#state.server === server) this.#options.onNotAccepted(this.address, codeOf(error));
    if (this.#state.kind !== 'opening' || this.#state.server !== server) return;
    server.close();
    this.#failures += 1;
    this.#openLater();
    const before = this.#problem;
    this.#problem = this.#problemOf(error, before);
    if (before?.message !== this.#problem.message) this.#options.onChange();
  }

  #openLater(): void {
    const { first, most, random } = this.#options;
    const delay = backoffDelay({ first, max: most }, this.#failures, random());
    const open = bounded(
      'listener/retry',
      () => this.#open(),
      () => this.#openLater(),
    );
    this.#state = { kind: 'waiting', timer: setTimeout(open, delay).unref() };
  }

  #problemOf(error: unknown, before: Problem | undefined): Problem {
    const { host, port } = this.address;
    const where = hostPort(this.address);
    const code = codeOf(error);
    switch (code) {
      case 'EADDRINUSE': {
        // The search is not free: until somebody was found, a few times, and then rarely.
        const isKnown = before?.code === 'port-in-use' && this.#owner !== undefined;
        const look = this.#failures % 8 === 0 || (!isKnown && this.#failures < 8);
        if (!look && before !== undefined) return before;
        const owner = this.#options.portOwner(port);
        this.#owner = owner;
        return portInUse(this.address, owner);
      }
      case 'EACCES':
        return {
          code: 'port-not-permitted',
          message: `This user may not listen on ${where}. Choose a port from 1024 on, or allow it (net.ipv4.ip_unprivileged_port_start).`,
        };
      case 'EADDRNOTAVAIL':
      case 'EAFNOSUPPORT':
        return {
          code: 'host-not-local',
          message: `${JSON.stringify(host)} is not an address of this machine. Choose one that is, or 0.0.0.0 for all.`,
        };
      default:
        return { code: 'listen-failed', message: `Listening on ${where} failed (${code}). It is tried again.` };
    }
  }
}

export function portInUse(address: HostPort, owner = 'another process'): Problem {
  return { code: 'port-in-use', message: `The port of ${hostPort(address)} is in use by ${owner}. Stop it or choose another port.` };
}

/** Of those that show no certificate so many at once are not read in turn: each would take some milliseconds longer, and together they take little. */
const FEW_HANDSHAKES = limitTable.unscheduledHandshakes.value;

/**
 * A session that is resumed lets its client in without a look at its certificate, and each goes on in another: where clients need one, there are none.
 *
 * Before TLS 1.3 a client may ask for handshakes anew, in each of which its certificates, then of any length, would be verified again: its
 * connection ends as soon as it does, and for that OpenSSL must not refuse it by itself (`endAtHandshakeAnew`).
 */
const contextOptions = ({ cert, key, ca }: TlsBundle): SecureContextOptions => ({
  minVersion: 'TLSv1.2',
  cert,
  key,
  ca,
  secureOptions: constants.SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION | (ca === undefined ? 0 : constants.SSL_OP_NO_TICKET),
});
