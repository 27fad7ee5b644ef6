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

/** Above the limit of open files, every further connection would fail. */
const CONNECTIONS = Math.min(limitTable.grantConnections.value, reserveWithin(openFilesLimit()).unauthenticated);
const defaultLimits: GrantServerLimits = {
  bodyBytes: limitTable.grantBodyBytes.value,
  requestMilliseconds: 30_000,
  redemptionsAtOnce: limitTable.redemptionsAtOnce.value,
  connections: CONNECTIONS,
  connectionsOfAddress: Math.min(limitTable.grantConnectionsOfAddress.value, CONNECTIONS),
};

/** Returns the `url` of a grant's status and of its tokens. */
export function grantUrl(host: string, port: number, grant: string): string {
  const inUrl = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `https://${inUrl}:${port}${REDEEM_PATH}${grant}`;
}

/**
 * Starts the HTTPS server (TLS 1.3). `POST /v1/redeem/GRANT` exchanges a code for a client certificate of the grant's authority. Codes
 * appear in no log line and no response. The body of a response other than 200 is a `Refusal`.
 */
export async function startGrantServer(options: GrantServerOptions): Promise<GrantServer> {
  const limits = { ...defaultLimits, ...options.limits };
  const service = new RedemptionService(options, limits);
  const server = createServer(
    // Node.js checks the timeouts only at this interval, which is 30 s by default.
    {
      ...tlsOptions(options.tls),
      handshakeTimeout: limits.requestMilliseconds,
      maxHeaderSize: 8_192,
      connectionsCheckingInterval: limits.requestMilliseconds / 4,
    },
  );
  const acceptor = new TlsAcceptor({
    slots: new AdmissionSlots({ most: limits.connections, mostOfGroup: limits.connectionsOfAddress }, hasSentData),
    // Hold the slot after the handshake: reading a request in many pieces takes longer than a handshake.
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
  // One request for each connection, so that the rate limit of handshakes also limits the requests of an address.
  server.maxRequestsPerSocket = limitTable.grantRequests.value;
  // Failed handshakes are normal on a public port.
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
      // Complete redemptions that are under way, since the caller closes the store next.
      await service.idle();
    },
  };
}

const tlsOptions = ({ cert, key }: IssuedBundle): TlsOptions => ({ cert, key, minVersion: 'TLSv1.3' });
