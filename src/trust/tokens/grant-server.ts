import { once } from 'node:events';
import { createServer } from 'node:https';
import { createServer as createDoor, type AddressInfo, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { GrantServer, GrantServerLimits, GrantServerOptions } from './contract.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { RedemptionService } from './redemption-service.ts';
import { REDEEM_PATH } from './redemption.ts';
import { AdmissionSlots } from '../../limits/admission-slots.ts';
import { handshakeScheduler } from '../../net/handshake-scheduler.ts';
import { HandshakePace } from '../../net/handshake-pace.ts';
import { limitKeyUpdates } from '../../net/key-updates.ts';
import { hasSentData, openTlsFeed } from '../../net/tls-feed.ts';
import { networkOf } from '../../x509/network.ts';
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
  // Before anybody else listens for connections.
  openTlsFeed(server, true);
  server.on(
    'request',
    bounded(
      'request/redemption',
      (request, response) => service.onRequest(request, response),
      (_, __, response) => void response.destroy(),
    ),
  );
  limitKeyUpdates(server, () => service.count('tls-failed'));
  server.headersTimeout = limits.requestMilliseconds / 2;
  server.requestTimeout = limits.requestMilliseconds;
  // Of one address handshakes begin so fast and no faster, and with each comes one request.
  server.maxRequestsPerSocket = limitTable.grantRequests.value;
  const places = new AdmissionSlots<Socket>({ most: limits.connections, mostOfGroup: limits.connectionsOfAddress }, hasSentData);
  const pace = new HandshakePace<Socket>(options.monotonic);
  const open = new Set<Socket>();
  const onSocket = (socket: Socket): void => {
    const network = networkOf(socket.remoteAddress ?? '');
    open.add(socket);
    const leave = (): void => {
      open.delete(socket);
      places.leave(socket);
      pace.leave(socket, network);
    };
    socket.once('close', bounded('connection/grant-closed', leave, leave));
    const ended = places.enter(socket, network);
    if (ended !== undefined) {
      service.count('server-busy');
      ended.destroy();
    }
    const shake = (): void => {
      server.emit('connection', socket);
      // All of it: a request in a great many pieces takes longer to read than a handshake.
      handshakeScheduler.begin(socket, network, 'asking');
    };
    pace.enter(
      socket,
      network,
      bounded('connection/grant-shake', shake, () => void socket.destroy()),
    );
  };
  // The HTTPS server gets each connection when its handshake is to begin, and listens nowhere itself.
  const door = createDoor({ pauseOnConnect: true, noDelay: true });
  door.on(
    'connection',
    bounded('connection/grant-begin', onSocket, (_, socket) => void socket.destroy()),
  );
  // Failed handshakes are the everyday life of an open port.
  server.on(
    'tlsClientError',
    bounded('connection/grant-tls-failed', () => service.count('tls-failed')),
  );
  door.listen(options.port, options.host);
  await once(door, 'listening');
  // From now on HTTP looks at its timeouts.
  server.emit('listening');
  // One accept that fails, for want of open files for example.
  door.on(
    'error',
    bounded('connection/grant-not-accepted', () => service.count('server-busy')),
  );
  return {
    // A TCP server that listens has an address and a port.
    port: (door.address() as AddressInfo).port,
    get answered() {
      return service.answered;
    },
    setTls: (bundle) => server.setSecureContext(tlsOptions(bundle)),
    [Symbol.asyncDispose]: async () => {
      // It ends the looking at timeouts, and what it has of connections.
      server.close();
      for (const socket of open) socket.destroy();
      if (door.listening) await once(door.close(), 'close');
      // What was being redeemed is written down whole: whoever disposes of this closes the store next.
      await service.idle();
    },
  };
}

const tlsOptions = ({ cert, key }: IssuedBundle): TlsOptions => ({ cert, key, minVersion: 'TLSv1.3' });
