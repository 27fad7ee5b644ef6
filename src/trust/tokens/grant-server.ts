import { createServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { GrantServer, GrantServerLimits, GrantServerOptions } from './contract.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { RedemptionService } from './redemption-service.ts';
import { REDEEM_PATH } from './redemption.ts';
import { AdmissionSlots } from '../../limits/admission-slots.ts';
import { HandshakePace } from '../../net/handshake-pace.ts';
import { hasSentData } from '../../net/tls-feed.ts';
import { TlsAcceptor } from '../../net/tls-acceptor.ts';
import { listenForTls } from '../../net/tls-port.ts';
import { limitTable } from '../../limits/table.ts';

/** Beyond the limit of open files nobody would get in at all. */
const CONNECTIONS = Math.min(limitTable.grantConnections.value, reserveWithin(openFilesLimit()).strangers);
const defaultLimits: GrantServerLimits = {
  bodyBytes: limitTable.grantBodyBytes.value,
  requestMilliseconds: 30_000,
  redemptionsAtOnce: limitTable.redemptionsAtOnce.value,
  connections: CONNECTIONS,
  connectionsOfAddress: Math.min(limitTable.grantConnectionsOfAddress.value, CONNECTIONS),
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
  const acceptor = new TlsAcceptor({
    slots: new AdmissionSlots({ most: limits.connections, mostOfGroup: limits.connectionsOfAddress }, hasSentData),
    // A request in a great many pieces takes longer to read than a handshake.
    holds: 'connection',
    side: () => 'asking',
    only13: true,
    pace: new HandshakePace(options.monotonic),
    onEvicted: () => service.count('server-busy'),
    onEndless: () => service.count('tls-failed'),
  });
  acceptor.protect(server);
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
  // Of one address handshakes begin so fast and no faster, and with each comes one request.
  server.maxRequestsPerSocket = limitTable.grantRequests.value;
  // Failed handshakes are the everyday life of an open port.
  server.on(
    'tlsClientError',
    bounded('connection/grant-tls-failed', () => service.count('tls-failed')),
  );
  const { port, close } = await listenForTls(acceptor, server, { ...options, onNotAccepted: () => service.count('server-busy') });
  return {
    port,
    get answered() {
      return service.answered;
    },
    setTls: (bundle) => server.setSecureContext(tlsOptions(bundle)),
    [Symbol.asyncDispose]: async () => {
      await close();
      // What was being redeemed is written down whole: whoever disposes of this closes the store next.
      await service.idle();
    },
  };
}

const tlsOptions = ({ cert, key }: IssuedBundle): TlsOptions => ({ cert, key, minVersion: 'TLSv1.3' });
