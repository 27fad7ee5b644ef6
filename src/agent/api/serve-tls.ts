import { constants } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { TLSSocket, type TlsOptions } from 'node:tls';
import type { Revocations } from '../../identity/issued.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import { bounded } from '../../telemetry/boundary.ts';
import type { Logger } from '../../telemetry/log.ts';
import { RateLimitedLog } from '../../telemetry/rate-limited-log.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { AdmissionSlots } from '../../limits/admission-slots.ts';
import { hasSentData } from '../../net/tls-feed.ts';
import { TlsAcceptor } from '../../net/tls-acceptor.ts';
import { listenForTls } from '../../net/tls-port.ts';
import { refusalOfClient } from './client-check.ts';
import type { RouterApi } from './router-api.ts';
import { answerWith, serveRequest } from './serve.ts';

export interface ApiServer extends AsyncDisposable {
  readonly port: number;
  /** Applies to new connections only. */
  setTls(tls: IssuedBundle): void;
}

export interface ApiServerOptions {
  readonly port: number;
  /** Address to listen on; all addresses if omitted. */
  readonly host?: string;
  /** Certificate of the server, and the CA of permitted clients. */
  readonly tls: IssuedBundle;
  readonly revoked: () => Revocations;
  readonly log: Logger;
  readonly limits?: Partial<ApiServerLimits>;
}

export interface ApiServerLimits {
  /** Timeout of a handshake, of a request, and of a response that the client does not read. */
  readonly milliseconds: number;
  /** Number of concurrent TLS handshakes, in total and for each address. */
  readonly handshakes: number;
  readonly handshakesOfAddress: number;
  /** Number of connections with a certificate of the CA, in total and for each certificate. */
  readonly connections: number;
  readonly connectionsOfClient: number;
}

const { unauthenticated } = reserveWithin(openFilesLimit());
const usual: ApiServerLimits = {
  milliseconds: 10_000,
  handshakes: Math.min(64, unauthenticated),
  handshakesOfAddress: Math.min(16, unauthenticated),
  connections: Math.min(32, unauthenticated),
  connectionsOfClient: Math.min(8, unauthenticated),
};

/**
 * Serves a router's API by mutual TLS 1.3 to clients whose certificate permits it. Connections in their handshakes and connections with a
 * certificate of the authority have separate slots, so the former cannot keep the latter out.
 */
export async function serveRouterApiByTls(api: RouterApi, options: ApiServerOptions): Promise<ApiServer> {
  const limits = { ...usual, ...options.limits };
  const server = createServer({
    ...tlsOptions(options.tls),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: limits.milliseconds,
    headersTimeout: limits.milliseconds / 2,
    requestTimeout: limits.milliseconds,
    // Node.js checks the timeouts only at this interval, which is 30 s by default.
    connectionsCheckingInterval: limits.milliseconds / 4,
    keepAliveTimeout: limits.milliseconds / 2,
    maxHeaderSize: 8_192,
  });
  const limitedLog = new RateLimitedLog(options.log);
  const acceptor = new TlsAcceptor({
    slots: new AdmissionSlots({ most: limits.handshakes, mostOfGroup: limits.handshakesOfAddress }, hasSentData),
    holds: 'handshake',
    side: () => 'incoming',
    only13: false,
    onEndless: ({ message }, { remoteAddress }) => limitedLog.warn({ address: remoteAddress, reason: message }, 'connection closed'),
  });
  acceptor.protect(server);
  server.timeout = limits.milliseconds;
  server.maxRequestsPerSocket = 256;
  const serve: RequestListener = (request, response) => {
    const refusal = refusalOfClient(certificateOf(request), request.method ?? '', options.revoked());
    if (refusal !== undefined)
      limitedLog.warn({ address: request.socket.remoteAddress, refusal: refusal.body }, 'client of the API refused');
    // Close the connection instead of waiting for a body, or for more requests of a client without permission.
    if (refusal !== undefined || hasBody(request)) response.setHeader('connection', 'close');
    if (refusal === undefined) serveRequest(api, request, response);
    else answerWith(refusal, response);
  };
  server.on(
    'request',
    bounded('request/api-by-tls', serve, (_, __, response) => void response.destroy()),
  );
  const clients = new AdmissionSlots<TLSSocket>({ most: limits.connections, mostOfGroup: limits.connectionsOfClient });
  const onSecure = (socket: TLSSocket): void => {
    const closed = (): void => clients.leave(socket);
    socket.once('close', bounded('connection/api-closed', closed, closed));
    clients.enter(socket, socket.getPeerX509Certificate()?.fingerprint256 ?? '')?.destroy();
  };
  server.on(
    'secureConnection',
    bounded('connection/api-secure', onSecure, (_, socket) => void socket.destroy()),
  );
  const { port, close } = await listenForTls(acceptor, server, { ...options, onNotAccepted: () => {} });
  return {
    port,
    setTls: (tls) => server.setSecureContext(tlsOptions(tls)),
    async [Symbol.asyncDispose]() {
      const closed = close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const tlsOptions = ({ cert, key, ca }: IssuedBundle): TlsOptions => ({
  cert,
  key,
  ca,
  minVersion: 'TLSv1.3',
  // A resumed session would admit a certificate without another check. SSL_OP_NO_TICKET has to be set on each context.
  secureOptions: constants.SSL_OP_NO_TICKET,
});

function certificateOf({ socket }: IncomingMessage): ReturnType<TLSSocket['getPeerX509Certificate']> {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
