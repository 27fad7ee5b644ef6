import { constants } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContextOptions, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import type { Problem, TlsBundle } from '../contract.ts';
import { backoffDelay } from '../../work/backoff.ts';
import { hostPort, type HostPort } from '../../text/host-port.ts';
import { codeOf, keepAlive } from './connect.ts';
import { EVERYWHERE } from './listening-table.ts';
import { resetSocket } from './socket-endpoint.ts';
import type { AdmissionSlots } from '../../limits/admission-slots.ts';
import { TlsAcceptor } from '../../net/tls-acceptor.ts';
import { limitTable } from '../../limits/table.ts';

const BACKLOG = 1024;

export interface ListeningOptions {
  /** Milliseconds that a client has for the TLS handshake. */
  readonly handshake: number;
  /** Slots for TLS handshakes in progress, shared by all listeners. */
  readonly handshakes: AdmissionSlots<Socket>;
  readonly first: number;
  readonly most: number;
  readonly random: () => number;
  readonly portOwner: (port: number) => string | undefined;
  /** Whether several routers may listen at this address together (SO_REUSEPORT). */
  readonly shared: boolean;
  /** `raw` is the TCP socket below a TLS socket, or the socket itself. */
  onSocket(socket: Socket, raw: Socket): void;
  onRefused(reason: 'handshake' | 'busy', error: Error): void;
  /** Called when the system has no resources left to accept a client. */
  onNotAccepted(address: HostPort, code: string): void;
  onChange(): void;
}

/** TLS of one port: the server does the handshakes, and does not listen itself. */
interface TlsSide {
  readonly server: TlsServer;
  readonly acceptor: TlsAcceptor;
}

type State =
  | { readonly kind: 'opening' | 'listening'; readonly server: Server; readonly tls: TlsSide | undefined }
  | { readonly kind: 'waiting'; readonly timer: NodeJS.Timeout }
  | { readonly kind: 'closed' };

/** One listening socket, which retries until it can listen: opening → listening, or waiting → opening; closed is final. */
export class ListeningSocket {
  readonly address: HostPort;
  readonly #options: ListeningOptions;
  #tls: TlsBundle | undefined;
  #state: State = { kind: 'closed' };
  #failures = 0;
  #problem: Problem | undefined;
  /** Process that holds the port, as of the last search. */
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

  /** Sets new certificates for future connections. Whether there is TLS at all cannot change. */
  setTls(tls: TlsBundle): void {
    this.#tls = tls;
    const state = this.#state;
    if (state.kind !== 'opening' && state.kind !== 'listening') return;
    state.tls?.server.setSecureContext(contextOptions(tls));
  }

  /** Stops listening; connections stay. Unfinished handshakes are closed, since a process that is stopping must not wait for them. */
  close(): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    if (state.kind === 'waiting') clearTimeout(state.timer);
    else if (state.kind !== 'closed') {
      state.server.close();
      state.tls?.acceptor.closeUnreleased();
    }
  }

  #open(): void {
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
    const tls = this.#tls === undefined ? undefined : this.#createTls(this.#tls);
    if (tls === undefined) this.#acceptPlain(server);
    else acceptTls(server, tls);
    this.#state = { kind: 'opening', server, tls };
    const failed = (error: unknown): void => this.#failed(server, error);
    server.on('error', bounded('listener/error', failed, failed));
    server.once(
      'listening',
      bounded('listener/listening', () => this.#opened(server), failed),
    );
    const { host, port } = this.address;
    server.listen({ ...(host === EVERYWHERE ? {} : { host }), port, backlog: BACKLOG, reusePort: this.#options.shared });
  }

  #acceptPlain(server: Server): void {
    const onSocket = (socket: Socket): void => {
      keepAlive(socket);
      this.#options.onSocket(socket, socket);
    };
    server.on(
      'connection',
      bounded('connection/accepted', onSocket, (_, socket) => resetSocket(socket, socket)),
    );
  }

  #createTls(tls: TlsBundle): TlsSide {
    const { handshakes } = this.#options;
    const onRefused: ListeningOptions['onRefused'] = (reason, error) => this.#options.onRefused(reason, error);
    const requestCert = tls.ca !== undefined;
    const server = createTlsServer({
      ...contextOptions(tls),
      allowHalfOpen: true,
      handshakeTimeout: this.#options.handshake,
      requestCert,
      rejectUnauthorized: requestCert,
    });
    const acceptor = new TlsAcceptor({
      slots: handshakes,
      port: hostPort(this.address),
      holds: 'handshake',
      side: () => (requestCert ? 'incoming' : handshakes.size >= FEW_HANDSHAKES ? 'unknown' : undefined),
      only13: false,
      onEvicted: () => onRefused('busy', new Error('too many TLS handshakes are in progress')),
      onEndless: (why) => onRefused('handshake', why),
      onRenegotiation: () => onRefused('handshake', new Error('the client requests another TLS handshake')),
    });
    acceptor.protect(server);
    const onSecure = (socket: TLSSocket): void => {
      const raw = acceptor.below(socket);
      if (raw === undefined) {
        socket.destroy();
        return;
      }
      // OpenSSL reports the end of a handshake while it is still working: resetting the connection there would free memory in use.
      const handOn = (): void => {
        if (raw.destroyed) return;
        // The listener may have closed in this iteration.
        if (this.#state.kind === 'closed') socket.destroy();
        else this.#options.onSocket(socket, raw);
      };
      setImmediate(bounded('connection/tls-accepted', handOn, () => void socket.destroy()));
    };
    const onFailure = (error: Error, socket: TLSSocket): void => {
      this.#options.onRefused('handshake', error);
      // A client that was too slow is still connected: Node.js only reports it.
      socket.destroy();
    };
    server.on(
      'secureConnection',
      bounded('connection/tls-secure', onSecure, (_, socket) => void socket.destroy()),
    );
    server.on(
      'tlsClientError',
      bounded('connection/tls-failed', onFailure, (_, __, socket) => void socket.destroy()),
    );
    return { server, acceptor };
  }

  #opened(server: Server): void {
    if (this.#state.kind !== 'opening' || this.#state.server !== server) return;
    this.#state = { ...this.#state, kind: 'listening' };
    this.#failures = 0;
    this.#problem = undefined;
    this.#options.onChange();
  }

  /** Also called after it has listened (too many open files at an accept): then it continues. */
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
        // The search is not free: a few times until an owner was found, then rarely.
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
          message: `This user may not listen on ${where}. Choose a port from 1024, or permit it (net.ipv4.ip_unprivileged_port_start).`,
        };
      case 'EADDRNOTAVAIL':
      case 'EAFNOSUPPORT':
        return {
          code: 'host-not-local',
          message: `${JSON.stringify(host)} is not an address of this machine. Choose one of its addresses, or 0.0.0.0 for all.`,
        };
      default:
        return { code: 'listen-failed', message: `Listening on ${where} failed (${code}). The attempt is repeated.` };
    }
  }
}

function acceptTls(port: Server, { server, acceptor }: TlsSide): void {
  const onRaw = (raw: Socket): void => {
    keepAlive(raw);
    const destroy = (): void => void raw.destroy();
    raw.on('error', bounded('connection/tls-raw-error', destroy, destroy));
    acceptor.accept(raw, server);
  };
  port.on(
    'connection',
    bounded('connection/tls-begin', onRaw, (_, raw) => void raw.destroy()),
  );
}

/** @param owner of the port, as `portOwner` names it */
export function portInUse(address: HostPort, owner = 'another process'): Problem {
  // The site must not be stopped because two of its own parts want one port.
  const isOwn = owner.endsWith(` (pid ${process.pid})`);
  const reason = isOwn ? 'this site itself, for another Listener, links or tokens. Choose' : `${owner}. Stop it or choose`;
  return { code: 'port-in-use', message: `The port of ${hostPort(address)} is in use by ${reason} another port.` };
}

/**
 * Number of handshakes without client certificates up to which they are not read round-robin. Reading them so would add some milliseconds
 * to each, and together they cost little.
 */
const FEW_HANDSHAKES = limitTable.unscheduledHandshakes.value;

/**
 * A resumed session would admit its client without checking its certificate again, so there are no tickets if client certificates are
 * required.
 *
 * Before TLS 1.3 a client may renegotiate, which would verify its certificates, of any length, again. Its connection ends as soon as it
 * tries. For that, OpenSSL must not refuse renegotiation by itself (`rejectRenegotiation`).
 */
const contextOptions = ({ cert, key, ca }: TlsBundle): SecureContextOptions => ({
  minVersion: 'TLSv1.2',
  cert,
  key,
  ca,
  secureOptions: constants.SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION | (ca === undefined ? 0 : constants.SSL_OP_NO_TICKET),
});
