/** Port of the console: HTTP on the loopback address, or HTTPS on all addresses. */
import { constants } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket, type SecureContextOptions } from 'node:tls';
import { AdmissionSlots } from '../limits/admission-slots.ts';
import { limitTable } from '../limits/table.ts';
import { TlsAcceptor } from '../net/tls-acceptor.ts';
import { hasSentData } from '../net/tls-feed.ts';
import { listenForTls } from '../net/tls-port.ts';
import { bounded } from '../telemetry/boundary.ts';

/** PEM. */
export interface ConsoleTls {
  readonly cert: string;
  readonly key: string;
  /** Authority of the proxies that may name users. If undefined, none may. */
  readonly proxyCa?: string;
}

export interface ConsolePort {
  readonly port: number;
  /** Applies to new connections. Ends the open ones if the authority of the proxies changed. No-op without TLS. */
  setTls(tls: ConsoleTls): void;
  /** Takes note that a client has shown a valid token: clients without one can no longer evict its connection. */
  admitted(socket: Socket): void;
  close(): Promise<void>;
}

export const LOOPBACK = '127.0.0.1';
const timeouts: ServerOptions = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 2_500,
  maxHeaderSize: 16_384,
};
const HANDSHAKE = 10_000;

/** @throws Error if the port cannot be opened, or if certificate and key do not fit */
export function listenForConsole(serve: RequestListener, port: number, tls: ConsoleTls | undefined): Promise<ConsolePort> {
  return tls === undefined ? listenOnLoopback(serve, port) : listenWithTls(serve, port, tls);
}

async function listenOnLoopback(serve: RequestListener, port: number): Promise<ConsolePort> {
  const server = createServer(timeouts);
  server.maxConnections = limitTable.consoleConnections.value;
  const unauthenticated = limitUnauthenticated(server);
  serveOn(server, serve);
  server.listen({ port, host: LOOPBACK });
  await once(server, 'listening');
  server.on('error', () => {});
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    setTls: () => {},
    admitted: (socket) => unauthenticated.leave(socket),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listenWithTls(serve: RequestListener, port: number, tls: ConsoleTls): Promise<ConsolePort> {
  const most = limitTable.consoleUnauthenticated.value;
  const server = createTlsServer({
    ...timeouts,
    ...contextOf(tls),
    // Browsers show no certificate, and are admitted by their tokens.
    ...(tls.proxyCa === undefined ? {} : { requestCert: true, rejectUnauthorized: false }),
    handshakeTimeout: HANDSHAKE,
  });
  const acceptor = new TlsAcceptor({
    // Pages behind one proxy have one address.
    slots: new AdmissionSlots({ most, mostOfGroup: most }, hasSentData),
    holds: 'connection',
    side: () => 'asking',
    only13: true,
    onEndless: () => {},
  });
  acceptor.protect(server);
  serveOn(server, serve);
  const connections = limitTable.consoleConnections.value;
  const clients = new AdmissionSlots<Socket>({ most: connections, mostOfGroup: connections });
  const known = new WeakSet<Socket>();
  let authority = tls.proxyCa;
  const opened = await listenForTls(acceptor, server, { port, onNotAccepted: () => {} });
  return {
    port: opened.port,
    admitted(socket) {
      if (known.has(socket) || !(socket instanceof TLSSocket)) return;
      known.add(socket);
      acceptor.release(socket);
      const leave = (): void => clients.leave(socket);
      socket.once('close', bounded('connection/console-client-closed', leave, leave));
      clients.enter(socket, '')?.destroy();
    },
    setTls(next) {
      server.setSecureContext(contextOf(next));
      const isOtherAuthority = next.proxyCa !== authority;
      authority = next.proxyCa;
      // The earlier authority has admitted them.
      if (isOtherAuthority) server.closeAllConnections();
    },
    async close() {
      const closed = opened.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function contextOf({ cert, key, proxyCa }: ConsoleTls): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.3',
    // A resumed session would be one of a proxy without another check of its certificate.
    ...(proxyCa === undefined ? {} : { ca: proxyCa, secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}

/** Whether the client has shown a certificate of the proxies' authority. A resumed session without a certificate counts as authorized. */
export function isOfProxy(socket: Socket): boolean {
  return socket instanceof TLSSocket && socket.authorized && socket.getPeerX509Certificate() !== undefined;
}

function serveOn(server: Server, serve: RequestListener): void {
  server.on(
    'request',
    bounded('request/console', serve, (_, __, response) => void response.destroy()),
  );
}

/** @returns slots of connections without a valid bearer token so far */
function limitUnauthenticated(server: Server): AdmissionSlots<Socket> {
  const most = limitTable.consoleUnauthenticated.value;
  const slots = new AdmissionSlots<Socket>({ most, mostOfGroup: most }, ({ bytesRead }) => bytesRead > 0);
  const admit = (socket: Socket): void => {
    const leave = (): void => slots.leave(socket);
    socket.once('close', bounded('connection/console-closed', leave, leave));
    slots.enter(socket, socket.remoteAddress ?? '')?.destroy();
  };
  server.on(
    'connection',
    bounded('connection/console', admit, (_, socket) => void socket.destroy()),
  );
  return slots;
}
