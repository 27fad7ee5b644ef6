import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { GrantServer, GrantServerLimits, GrantServerOptions } from './contract.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { RedemptionService } from './redemption-service.ts';
import { REDEEM_PATH } from './redemption.ts';
import { FairPlaces } from '../../work/fair-places.ts';
import { networkOf } from '../../x509/network.ts';

/** Beyond the limit of open files nobody would get in at all. */
const CONNECTIONS = Math.min(512, reserveWithin(openFilesLimit()).strangers);
const defaultLimits: GrantServerLimits = {
  bodyBytes: 16_384,
  requestMilliseconds: 10_000,
  concurrentRequests: 256,
  connections: CONNECTIONS,
  connectionsOfAddress: Math.min(128, CONNECTIONS),
};

/** The `url` of a grant's status and of its tokens. */
export function grantUrl(host: string, port: number, grant: string): string {
  const inUrl = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `https://${inUrl}:${port}${REDEEM_PATH}${grant}`;
}

/**
 * HTTPS, TLS 1.3: `POST /v1/redeem/GRANT` turns a code into a client certificate of the grant's authority. Codes are in no
 * log line and in no answer. An answer other than 200 is a `Refusal`.
 */
export async function startGrantServer(options: GrantServerOptions): Promise<GrantServer> {
  const limits = { ...defaultLimits, ...options.limits };
  const service = new RedemptionService(options, limits);
  const server = createServer(
    // Timeouts are looked at only so often: every 30 s, if it is not said.
    {
      ...tlsOptions(options.tls),
      handshakeTimeout: limits.requestMilliseconds,
      maxHeaderSize: 8_192,
      connectionsCheckingInterval: limits.requestMilliseconds / 4,
    },
  );
  server.on(
    'request',
    bounded(
      'request/redemption',
      (request, response) => service.onRequest(request, response),
      (_, __, response) => void response.destroy(),
    ),
  );
  server.headersTimeout = limits.requestMilliseconds / 2;
  server.requestTimeout = limits.requestMilliseconds;
  server.keepAliveTimeout = 1_000;
  server.maxRequestsPerSocket = 16;
  const places = new FairPlaces<Socket>({ most: limits.connections, mostOfGroup: limits.connectionsOfAddress });
  const onSocket = (socket: Socket): void => {
    const leave = (): void => places.leave(socket);
    socket.once('close', bounded('connection/grant-closed', leave, leave));
    const ended = places.enter(socket, networkOf(socket.remoteAddress ?? ''));
    if (ended === undefined) return;
    service.count('server-busy');
    ended.destroy();
  };
  server.on(
    'connection',
    bounded('connection/grant-begin', onSocket, (_, socket) => void socket.destroy()),
  );
  // Failed handshakes are the everyday life of an open port.
  server.on(
    'tlsClientError',
    bounded('connection/grant-tls-failed', () => service.count('tls-failed')),
  );
  server.listen(options.port, options.host);
  await once(server, 'listening');
  // One accept that fails, for want of open files for example.
  server.on(
    'error',
    bounded('connection/grant-not-accepted', () => service.count('server-busy')),
  );
  return {
    port: portOf(server),
    get answered() {
      return service.answered;
    },
    setTls: (bundle) => server.setSecureContext(tlsOptions(bundle)),
    [Symbol.asyncDispose]: async () => {
      await close(server);
      // What was being redeemed is written down whole: whoever disposes of this closes the store next.
      await service.idle();
    },
  };
}

const tlsOptions = ({ cert, key }: IssuedBundle): TlsOptions => ({ cert, key, minVersion: 'TLSv1.3' });

function portOf(server: Server): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
