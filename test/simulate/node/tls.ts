/**
 * Stands for `node:tls` in the router: handshakes that are messages on the simulated network, with real certificates. What follows them is
 * not encrypted, since there are no eavesdroppers.
 */
import { checkServerIdentity } from 'node:tls';
import { hash, type X509Certificate } from 'node:crypto';
import type { Endpoint } from '../endpoint.ts';
import { clearTimeout, setTimeout } from './globals.ts';
import { Server as TcpServer, Socket, type ConnectOptions, type ServerOptions } from './net.ts';
import { createSecureContext, type SecureContext, type SecureContextOptions } from './secure-context.ts';
import { TlsHandle, type Greeting } from './tls-handle.ts';

export { checkServerIdentity, createSecureContext };
export type { SecureContext, SecureContextOptions };

interface TlsOptions {
  readonly secureContext: SecureContext;
  readonly ALPNProtocols?: readonly string[];
  readonly servername?: string;
  readonly host?: string;
  readonly requestCert?: boolean;
  readonly rejectUnauthorized?: boolean;
  readonly allowHalfOpen?: boolean;
  readonly isServer: boolean;
  readonly checkServerIdentity?: (host: string, certificate: object) => Error | undefined;
}

export class TLSSocket extends Socket {
  authorized = false;
  authorizationError: Error | string | null = null;
  alpnProtocol: string | false | null = null;
  /** Called after the handshake: undefined if it succeeded. */
  onSecure: (error?: Error) => void = () => {};
  readonly #options: TlsOptions;
  readonly #tls: TlsHandle;
  #raw: Socket | undefined;

  constructor(raw: Socket | undefined, options: TlsOptions) {
    const handle = new TlsHandle(options);
    super({ handle, allowHalfOpen: raw?.allowHalfOpen ?? options.allowHalfOpen ?? false, manualStart: true });
    this.#options = options;
    this.#tls = handle;
    // As Node.js's own, which passes its server an error that has no other listener yet.
    if (options.isServer) this.on('error', () => {});
    handle.onGreeting = (greeting) => this.#greeted(greeting);
    handle.onFailure = (code) => this.#fail(code);
    if (raw !== undefined) this.#wrap(raw);
    else this.once('connect', () => handle.start());
  }

  exportKeyingMaterial(length: number, label: string): Buffer {
    return hash('sha256', Buffer.concat([this.#tls.secret, Buffer.from(label)]), 'buffer').subarray(0, length);
  }

  getPeerX509Certificate(): X509Certificate | undefined {
    return this.#tls.peer?.certificate;
  }

  getPeerCertificate(): object {
    return this.getPeerX509Certificate()?.toLegacyObject() ?? {};
  }

  get secured(): boolean {
    return this.#tls.isSecure;
  }

  isSessionReused(): boolean {
    return this.#tls.resumed;
  }

  /** Renegotiation is never requested. */
  disableRenegotiation(): void {}

  #wrap(raw: Socket): void {
    this.#raw = raw;
    const { endpoint } = raw;
    raw.once('close', () => this.destroy());
    this.#tls.onClose = () => raw.destroy();
    if (endpoint === undefined) {
      this.destroy();
      return;
    }
    this.#tls.attach(endpoint);
    this.#tls.start();
  }

  #greeted({ peer, alpn, resumed }: Greeting): void {
    if (this.destroyed) return;
    const { isServer, host = '', servername = host, requestCert, rejectUnauthorized } = this.#options;
    this.alpnProtocol = alpn ?? false;
    // A resuming peer is known: its certificate is not verified again.
    const looks = !resumed && (!isServer || requestCert === true);
    const found = looks ? this.#options.secureContext.verify(peer, isServer ? 'client' : 'server') : undefined;
    const identity = isServer || found !== undefined ? undefined : this.#wrongHost(servername);
    this.authorized = found === undefined && identity === undefined && (!isServer || requestCert === true);
    this.authorizationError = identity ?? found ?? null;
    const refused = !this.authorized && looks && rejectUnauthorized !== false;
    const error = refused ? (identity ?? Object.assign(new Error(`certificate refused: ${found}`), { code: found })) : undefined;
    this.onSecure(error);
    if (error === undefined && !this.destroyed) this.read(0);
  }

  #wrongHost(host: string): Error | undefined {
    return (this.#options.checkServerIdentity ?? checkServerIdentity)(host, this.getPeerCertificate() as never);
  }

  #fail(code: string): void {
    this.onSecure(Object.assign(new Error(`TLS: ${code}`), { code }));
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    super._destroy(error, done);
    this.#raw?.destroy();
  }
}

interface DialOptions extends Omit<TlsOptions, 'isServer'>, ConnectOptions {
  readonly socket?: Socket;
}

export function connect(options: DialOptions): TLSSocket {
  const { rejectUnauthorized = true, host = '' } = options;
  const socket: TLSSocket = new TLSSocket(options.socket, { ...options, host, rejectUnauthorized, isServer: false });
  socket.onSecure = (error) => {
    if (error === undefined) socket.emit('secureConnect');
    else socket.destroy(error);
  };
  socket.once('end', () => {
    if (!socket.secured) socket.destroy(early());
  });
  if (options.socket === undefined) socket.connect(options);
  return socket;
}

function early(): Error {
  const text = 'Client network socket disconnected before secure TLS connection was established';
  return Object.assign(new Error(text), { code: 'ECONNRESET' });
}

interface TlsServerOptions extends ServerOptions, SecureContextOptions {
  readonly requestCert?: boolean;
  readonly rejectUnauthorized?: boolean;
  readonly ALPNProtocols?: readonly string[];
  readonly handshakeTimeout?: number;
}

/** Milliseconds, as Node.js has it. */
const HANDSHAKE_TIMEOUT = 120_000;

export class Server extends TcpServer {
  readonly #options: TlsServerOptions;
  #context: SecureContext;

  constructor(options: TlsServerOptions, onSecure?: (socket: TLSSocket) => void) {
    super(options);
    this.#options = options;
    this.#context = createSecureContext(options);
    this.on('connection', (raw: Socket) => this.#shake(raw));
    if (onSecure !== undefined) this.on('secureConnection', onSecure);
  }

  setSecureContext(options: SecureContextOptions): void {
    this.#context = createSecureContext(options);
  }

  protected override accepted(endpoint: Endpoint): void {
    this.emit('connection', this.socketOf(endpoint, { ...this.#options, pauseOnConnect: true }));
  }

  #shake(raw: Socket): void {
    const { rejectUnauthorized = true, handshakeTimeout = HANDSHAKE_TIMEOUT } = this.#options;
    const socket: TLSSocket = new TLSSocket(raw, { ...this.#options, rejectUnauthorized, secureContext: this.#context, isServer: true });
    let told = false;
    const failed = (error: Error): void => {
      clearTimeout(timer);
      if (told) return;
      told = true;
      this.emit('tlsClientError', error, socket);
    };
    const timer = setTimeout(
      () => failed(Object.assign(new Error('TLS handshake timeout'), { code: 'ERR_TLS_HANDSHAKE_TIMEOUT' })),
      handshakeTimeout,
    );
    const onClose = (): void => failed(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
    socket.on('error', failed);
    socket.once('close', onClose);
    socket.onSecure = (error) => {
      if (error !== undefined) {
        failed(error);
        socket.destroy();
        return;
      }
      told = true;
      clearTimeout(timer);
      socket.off('error', failed);
      socket.off('close', onClose);
      this.emit('secureConnection', socket);
    };
  }
}

export function createServer(options: TlsServerOptions, onSecure?: (socket: TLSSocket) => void): Server {
  return new Server(options, onSecure);
}
