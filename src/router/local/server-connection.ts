import { isIP, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import { hostPort, type HostPort } from '../../text/host-port.ts';
import { connectAny, type TcpResult } from './connect.ts';
import { failure, type ServerFailure } from './failure.ts';
import { tlsFailureOf } from './server-tls-failure.ts';
import { limitOutgoingTls } from '../../net/outgoing-tls.ts';

export interface ClientTls {
  readonly context: SecureContext;
  readonly verifyHostname: boolean;
}

export type ServerResult =
  | {
      readonly kind: 'connected';
      readonly socket: Socket;
      readonly raw: Socket;
      /** Milliseconds of the handshake; undefined without TLS. */
      readonly tlsTime?: number;
    }
  | { readonly kind: 'failed'; readonly failure: ServerFailure };

/**
 * Connects to a server, with TLS if configured, within that many milliseconds in total. Calls `done` once, never within the call.
 * @returns a function to cancel; `done` is not called afterwards
 */
export function connectServer(
  server: HostPort,
  tls: ClientTls | undefined,
  deadline: number,
  done: (result: ServerResult) => void,
): () => void {
  const attempt = new ServerAttempt(server, tls, deadline, done);
  return () => attempt.cancel();
}

/** One connection that is being opened. */
class ServerAttempt {
  readonly #server: HostPort;
  readonly #tls: ClientTls | undefined;
  /** Milliseconds. */
  readonly #deadline: number;
  readonly #done: (result: ServerResult) => void;
  readonly #timer: NodeJS.Timeout;
  #giveUp: () => void;
  #over = false;

  constructor(server: HostPort, tls: ClientTls | undefined, deadline: number, done: (result: ServerResult) => void) {
    this.#server = server;
    this.#tls = tls;
    this.#deadline = deadline;
    this.#done = done;
    const late = (): void => this.#late();
    this.#timer = setTimeout(bounded('connection/connect-deadline', late, late), deadline);
    this.#giveUp = connectAny(server, (result) => this.#connected(result));
  }

  cancel(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#giveUp();
  }

  #late(): void {
    this.#giveUp();
    const why = `Timed out: no connection to ${hostPort(this.#server)} within ${this.#deadline / 1000} s.`;
    this.#finish({ kind: 'failed', failure: failure('timeout', why) });
  }

  #connected(result: TcpResult): void {
    if (result.kind === 'failed') this.#finish(result);
    else if (this.#tls === undefined) this.#finish({ kind: 'connected', socket: result.socket, raw: result.socket });
    else this.#giveUp = secure(result.socket, this.#server, this.#tls, (secured) => this.#finish(secured));
  }

  #finish(result: ServerResult): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#done(result);
  }
}

/** A name is sent as SNI and verified; an address is only verified (RFC 6066 section 3 does not allow addresses as names). */
function secure(raw: Socket, server: HostPort, { context, verifyHostname }: ClientTls, finish: (result: ServerResult) => void): () => void {
  const begun = performance.now();
  const host = server.host.replace(/\.$/, '');
  const socket = connectTls({
    socket: raw,
    host,
    secureContext: context,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(verifyHostname ? {} : { checkServerIdentity: () => undefined }),
  });
  limitOutgoingTls(socket, hostPort(server));
  const onError = (error: NodeJS.ErrnoException): void => {
    raw.destroy();
    finish({ kind: 'failed', failure: tlsFailureOf(error, server) });
  };
  const broken = (): void => {
    socket.destroy();
    onError(new Error('an unexpected error of this router'));
  };
  const onFailure = bounded('connection/server-tls-error', onError, broken);
  const onClosed = bounded(
    'connection/server-tls-close',
    () => onError(new Error('the connection was closed during the handshake')),
    broken,
  );
  const handOn = (): void => {
    if (socket.destroyed || raw.destroyed) return;
    socket.off('error', onFailure);
    raw.off('error', onFailure);
    socket.off('close', onClosed);
    finish({ kind: 'connected', socket, raw, tlsTime: performance.now() - begun });
  };
  // Deferred as for accepted connections: OpenSSL is still working on the handshake.
  const onSecure = (): void => {
    setImmediate(bounded('connection/server-handed-on', handOn, broken));
  };
  socket.on('error', onFailure);
  raw.on('error', onFailure);
  socket.once('close', onClosed);
  socket.once('secureConnect', bounded('connection/server-secure', onSecure, broken));
  return () => {
    socket.destroy();
    raw.destroy();
  };
}
