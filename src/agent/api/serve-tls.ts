import { constants } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket, type TlsOptions } from 'node:tls';
import type { Revocations } from '../../identity/issued.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import { bounded } from '../../telemetry/boundary.ts';
import type { Logger } from '../../telemetry/log.ts';
import { RateLimitedLog } from '../../telemetry/rate-limited-log.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { AdmissionSlots } from '../../limits/admission-slots.ts';
import { handshakeScheduler } from '../../net/handshake-scheduler.ts';
import { limitKeyUpdates } from '../../net/key-updates.ts';
import { TcpByTls } from '../../net/tcp-by-tls.ts';
import { hasSentData, openTlsFeed } from '../../net/tls-feed.ts';
import { networkOf } from '../../x509/network.ts';
import { refusalOfClient } from './client-check.ts';
import type { RouterApi } from './router-api.ts';
import { answerWith } from './serve.ts';

export interface ApiServer extends AsyncDisposable {
  readonly port: number;
  /** From now on, for connections that come. */
  setTls(tls: IssuedBundle): void;
}

export interface ApiServerOptions {
  readonly port: number;
  /** The address to listen on. Left out: all. */
  readonly host?: string;
  /** What it shows, and the authority of those who may ask. */
  readonly tls: IssuedBundle;
  readonly revoked: () => Revocations;
  readonly log: Logger;
  readonly limits?: Partial<ApiServerLimits>;
}

export interface ApiServerLimits {
  /** For a handshake, a request, and an answer that is not read. */
  readonly milliseconds: number;
  /** TLS handshakes under way, in all and of one address. */
  readonly handshakes: number;
  readonly handshakesOfAddress: number;
  /** Connections with a certificate of the authority, in all and by one certificate. */
  readonly connections: number;
  readonly connectionsOfClient: number;
}

const { strangers } = reserveWithin(openFilesLimit());
const usual: ApiServerLimits = {
  milliseconds: 10_000,
  handshakes: Math.min(64, strangers),
  handshakesOfAddress: Math.min(16, strangers),
  connections: Math.min(32, strangers),
  connectionsOfClient: Math.min(8, strangers),
};

/**
 * Serves a router's API by mutual TLS 1.3 to whoever shows a certificate for that. Who has not shown one of the authority yet keeps nobody out
 * who has: each has places of its own, of which the newcomer gets one.
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
    // Timeouts are looked at only so often: every 30 s, if it is not said.
    connectionsCheckingInterval: limits.milliseconds / 4,
    keepAliveTimeout: limits.milliseconds / 2,
    maxHeaderSize: 8_192,
  });
  openTlsFeed(server);
  server.timeout = limits.milliseconds;
  server.maxRequestsPerSocket = 256;
  const ration = new RateLimitedLog(options.log);
  limitKeyUpdates(server, ({ message }, { remoteAddress }) =>
    ration.warn({ address: remoteAddress, reason: message }, 'connection closed'),
  );
  const serve: RequestListener = (request, response) => {
    const refusal = refusalOfClient(certificateOf(request), options.revoked());
    if (refusal !== undefined) ration.warn({ address: request.socket.remoteAddress, refusal: refusal.body }, 'not let in to the API');
    // A body is not waited for, nor is whoever may not ask.
    if (refusal !== undefined || hasBody(request)) response.setHeader('connection', 'close');
    answerWith(refusal ?? api.answer({ method: request.method ?? '', target: request.url ?? '' }), response);
  };
  server.on(
    'request',
    bounded('request/api-by-tls', serve, (_, __, response) => void response.destroy()),
  );
  const places = new Places(limits);
  const end = (_: unknown, socket: Socket): void => void socket.destroy();
  server.on(
    'connection',
    bounded('connection/api-begin', (socket: Socket) => places.begin(socket), end),
  );
  server.on(
    'secureConnection',
    bounded('connection/api-secure', (socket: TLSSocket) => places.secure(socket), end),
  );
  server.listen({ port: options.port, ...(options.host === undefined ? {} : { host: options.host }) });
  await once(server, 'listening');
  // One accept that fails, for want of open files for example.
  server.on('error', () => {});
  return {
    // A TCP server that listens has an address and a port.
    port: (server.address() as AddressInfo).port,
    setTls: (tls) => server.setSecureContext(tlsOptions(tls)),
    async [Symbol.asyncDispose]() {
      server.close();
      places.endHandshakes();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** Who is in the middle of a handshake, and who has shown a certificate of the authority. */
class Places {
  readonly #raws = new TcpByTls();
  readonly #handshakes: AdmissionSlots<Socket>;
  readonly #shaking = new Set<Socket>();
  readonly #clients: AdmissionSlots<TLSSocket>;

  constructor({ handshakes, handshakesOfAddress, connections, connectionsOfClient }: ApiServerLimits) {
    this.#handshakes = new AdmissionSlots({ most: handshakes, mostOfGroup: handshakesOfAddress }, hasSentData);
    this.#clients = new AdmissionSlots({ most: connections, mostOfGroup: connectionsOfClient });
  }

  begin(raw: Socket): void {
    if (!this.#raws.add(raw)) return;
    const closed = (): void => this.#leave(raw);
    raw.once('close', bounded('connection/api-handshake-closed', closed, closed));
    const network = networkOf(raw.remoteAddress ?? '');
    handshakeScheduler.begin(raw, network);
    const ended = this.#handshakes.enter(raw, network);
    this.#shaking.add(raw);
    if (ended === undefined) return;
    this.#leave(ended);
    ended.destroy();
  }

  secure(socket: TLSSocket): void {
    const raw = this.#raws.below(socket);
    if (raw !== undefined) {
      this.#leave(raw);
      handshakeScheduler.end(raw);
    }
    const closed = (): void => this.#clients.leave(socket);
    socket.once('close', bounded('connection/api-closed', closed, closed));
    this.#clients.enter(socket, socket.getPeerX509Certificate()?.fingerprint256 ?? '')?.destroy();
  }

  /** Handshakes, which a server of HTTP does not know of yet. */
  endHandshakes(): void {
    for (const raw of this.#shaking) raw.destroy();
  }

  #leave(raw: Socket): void {
    this.#shaking.delete(raw);
    this.#handshakes.leave(raw);
  }
}

const tlsOptions = ({ cert, key, ca }: IssuedBundle): TlsOptions => ({
  cert,
  key,
  ca,
  minVersion: 'TLSv1.3',
  // A resumed session would let a certificate in without looking at it again. Each context has options of its own.
  secureOptions: constants.SSL_OP_NO_TICKET,
});

function certificateOf({ socket }: IncomingMessage): ReturnType<TLSSocket['getPeerX509Certificate']> {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
