import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FairPlaces } from '../../work/fair-places.ts';
import { networkOf } from '../../x509/network.ts';
import { bounded, detached } from '../../telemetry/boundary.ts';
import { metrics } from '../../telemetry/metrics.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { Renderings } from './renderings.ts';

/** Why a probe fails, in words for `kubectl describe`; undefined when all is well. */
export type Probe = () => string | undefined;

export interface TelemetryServer extends AsyncDisposable {
  readonly port: number;
}

/** Connections at the port, in all and of one address: whoever reaches it needs no certificate, and is not to have the files of others. */
const MOST = Math.min(64, Math.ceil(reserveWithin(openFilesLimit()).strangers / 2));
const MOST_OF_ADDRESS = Math.min(16, MOST);
/** Of one connection, which is closed then: what asks for more at once, without waiting for answers, costs others their turns. */
const MOST_REQUESTS = 256;

const renderings = new Renderings(() => metrics.metrics());

/** Serves `/metrics` (Prometheus text), `/livez`, also called `/healthz`, and `/readyz` (200 `ok`, or 503 with the reason). */
export async function serveTelemetry(options: {
  /** 0 for any that is free. */
  readonly port: number;
  /** Ports that 0 does not stand for: somebody will need them later. */
  readonly avoid?: readonly number[];
  /** Address to listen on; left out: all. */
  readonly host?: string;
  /** False: probes only. */
  readonly metrics?: boolean;
  readonly live: Probe;
  readonly ready: Probe;
}): Promise<TelemetryServer> {
  const probes: Readonly<Record<string, Probe>> = { '/healthz': options.live, '/livez': options.live, '/readyz': options.ready };
  const serve: RequestListener = (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
    if (probe !== undefined) {
      const problem = probe();
      response.writeHead(problem === undefined ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`${problem ?? 'ok'}\n`);
    } else if (path === '/metrics' && options.metrics !== false) {
      const answer = async (): Promise<void> => {
        const text = await renderings.latest();
        response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
      };
      detached('request/metrics', answer, () => response.writeHead(500).end());
    } else {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('not found; this port serves /metrics, /livez and /readyz\n');
    }
  };
  const server = await listen(serve, options);
  return { port: portOf(server), [Symbol.asyncDispose]: () => close(server) };
}

async function listen(
  serve: RequestListener,
  options: { readonly port: number; readonly avoid?: readonly number[]; readonly host?: string },
): Promise<Server> {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 2_500 });
  server.maxRequestsPerSocket = MOST_REQUESTS;
  const places = new FairPlaces<Socket>({ most: MOST, mostOfGroup: MOST_OF_ADDRESS });
  const begin = (socket: Socket): void => {
    const leave = (): void => places.leave(socket);
    socket.once('close', bounded('connection/telemetry-closed', leave, leave));
    places.enter(socket, networkOf(socket.remoteAddress ?? ''))?.destroy();
  };
  const end = (_: unknown, socket: Socket): void => void socket.destroy();
  server.on('connection', bounded('connection/telemetry-begin', begin, end));
  const tooMany = (_: IncomingMessage, socket: Duplex): void => void socket.destroy();
  server.on(
    'dropRequest',
    bounded('request/telemetry-dropped', tooMany, (_, __, socket) => void socket.destroy()),
  );
  server.on(
    'request',
    bounded('request/telemetry', serve, (_, __, response) => void response.destroy()),
  );
  server.listen(options.port, options.host);
  await once(server, 'listening');
  // One accept that fails, for want of open files for example.
  server.on('error', () => {});
  if (options.port !== 0 || options.avoid?.includes(portOf(server)) !== true) return server;
  // Held until there is another, which is then not the same.
  try {
    return await listen(serve, options);
  } finally {
    await close(server);
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, 'close');
}
