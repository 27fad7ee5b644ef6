import { createServer, type IncomingMessage, type RequestListener, type Server as HttpServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createServer as createDoor, type Server, type Socket } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import { AdmissionSlots } from '../../limits/admission-slots.ts';
import { RoundRobin } from '../../limits/loop/round-robin.ts';
import { networkOf } from '../../x509/network.ts';
import { bounded, detached } from '../../telemetry/boundary.ts';
import { metrics } from '../../telemetry/metrics.ts';
import { openFilesLimit, reserveWithin } from '../../telemetry/open-files.ts';
import { listenFailure } from './listen-failure.ts';
import { renderMetrics } from './render-metrics.ts';
import { Renderings } from './renderings.ts';
import { limitTable } from '../../limits/table.ts';

/** Reason why a probe fails, shown by `kubectl describe`; undefined if healthy. */
export type Probe = () => string | undefined | Promise<string | undefined>;

export interface TelemetryServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * Maximum number of connections in total and for one address. Clients need no certificate here, so they must not exhaust the
 * files of others.
 */
const MOST = Math.min(limitTable.telemetryConnections.value, Math.ceil(reserveWithin(openFilesLimit()).unauthenticated / 2));
const MOST_OF_ADDRESS = Math.min(limitTable.telemetryConnectionsOfAddress.value, MOST);
/** Maximum number of requests on one connection, which is then closed. Pipelined requests cost others their event-loop time. */
const MOST_REQUESTS = limitTable.telemetryRequests.value;
/** Maximum bytes of one read. Requests for metrics or probes have several hundred. */
const MOST_AT_ONCE = limitTable.telemetryBytes.value;
const TOO_LONG = `HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
/** Idle timeout in milliseconds; longer than the interval between two scrapes of Prometheus. */
const IDLE = 65_000;

const renderings = new Renderings(async () => Buffer.from(await renderMetrics(metrics)));

/** Serves `/metrics` (Prometheus text), `/livez` with the alias `/healthz`, and `/readyz` (200 `ok`, or 503 with the reason). */
export async function serveTelemetry(options: {
  /** Port to listen on; 0 for any free port. */
  readonly port: number;
  /** Ports that 0 must not choose because they are needed later. */
  readonly avoid?: readonly number[];
  /** Address to listen on. Default: all addresses. */
  readonly host?: string;
  /** Option of the command that chooses the port. Default: `--http-port`. */
  readonly option?: string;
  /** False to serve probes only. A function answers in place of the metrics of this process. */
  readonly metrics?: boolean | ((response: ServerResponse) => void);
  readonly live: Probe;
  readonly ready: Probe;
  /** Further paths, whose content becomes JSON. */
  readonly pages?: Readonly<Record<string, () => object>>;
}): Promise<TelemetryServer> {
  const probes: Readonly<Record<string, Probe>> = { '/healthz': options.live, '/livez': options.live, '/readyz': options.ready };
  const { pages = {} } = options;
  const serve: RequestListener = (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
    if (probe !== undefined) {
      answerProbe(probe, response);
    } else if (path === '/metrics' && options.metrics !== false) {
      const answer = typeof options.metrics === 'function' ? options.metrics : answerMetrics;
      answer(response);
    } else if (Object.hasOwn(pages, path)) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify(pages[path]?.())}\n`);
    } else {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`not found; this port serves ${['/metrics', '/livez', ...Object.keys(pages)].join(', ')} and /readyz\n`);
    }
  };
  const listening = await listen(serve, options);
  return { port: portOf(listening.door), [Symbol.asyncDispose]: () => close(listening) };
}

function answerProbe(probe: Probe, response: ServerResponse): void {
  const answer = (problem: string | undefined): void => {
    response.writeHead(problem === undefined ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`${problem ?? 'ok'}\n`);
  };
  const problem = probe();
  if (problem instanceof Promise)
    detached(
      'request/probe',
      async () => answer(await problem),
      () => response.writeHead(500).end(),
    );
  else answer(problem);
}

/** Answers a request for metrics. */
export function answerMetrics(response: ServerResponse): void {
  const answer = async (): Promise<void> => {
    const text = await renderings.latest();
    response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
  };
  detached('request/metrics', answer, () => response.writeHead(500).end());
}

async function listen(
  serve: RequestListener,
  options: { readonly port: number; readonly avoid?: readonly number[]; readonly host?: string; readonly option?: string },
): Promise<Listening> {
  // Gets its connections from the listening socket; the HTTP server itself does not listen.
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 2_500 });
  server.maxRequestsPerSocket = MOST_REQUESTS;
  const places = new AdmissionSlots<Socket>({ most: MOST, mostOfGroup: MOST_OF_ADDRESS }, ({ bytesRead }) => bytesRead > 0);
  const turns = new RoundRobin();
  const open = new Set<Socket>();
  const begin = (socket: Socket): void => {
    open.add(socket);
    const leave = (): void => {
      open.delete(socket);
      places.leave(socket);
    };
    socket.once('close', bounded('connection/telemetry-closed', leave, leave));
    const network = networkOf(socket.remoteAddress ?? '');
    places.enter(socket, network)?.destroy();
    server.emit('connection', sparing(socket, turns, network));
  };
  const end = (_: unknown, socket: Socket): void => void socket.destroy();
  const door = createDoor({ noDelay: true });
  door.on('connection', bounded('connection/telemetry-begin', begin, end));
  const tooMany = (_: IncomingMessage, socket: Duplex): void => void socket.destroy();
  server.on(
    'dropRequest',
    bounded('request/telemetry-dropped', tooMany, (_, __, socket) => void socket.destroy()),
  );
  server.on(
    'request',
    bounded('request/telemetry', serve, (_, __, response) => void response.destroy()),
  );
  const { port, host, option = '--http-port' } = options;
  door.listen(port, host);
  await once(door, 'listening').catch((error: unknown) => {
    throw listenFailure(error, { host, port, option });
  });
  // The HTTP server starts checking timeouts on this event.
  server.emit('listening');
  // A single failed accept, for example for lack of open files.
  door.on('error', () => {});
  const listening = { server, door, open };
  if (port !== 0 || options.avoid?.includes(portOf(door)) !== true) return listening;
  // The port stays occupied until another one is found, so that the next attempt cannot get it again.
  try {
    return await listen(serve, options);
  } finally {
    await close(listening);
  }
}

interface Listening {
  readonly server: HttpServer;
  readonly door: Server;
  readonly open: ReadonlySet<Socket>;
}

/**
 * Wraps a connection for the HTTP server. A read larger than any request for metrics closes the connection unparsed: parsing 64
 * KiB in many pieces takes about 15 ms. One read is processed in each event-loop iteration, round-robin over addresses, because 4
 * KiB can hold requests for several milliseconds.
 */
function sparing(socket: Socket, turns: RoundRobin, network: string): Duplex {
  const [inner, outer] = duplexPair();
  let pass: (() => void) | undefined;
  const end = (): void => {
    if (pass !== undefined) turns.delete(network, pass);
    inner.destroy();
    socket.destroy();
  };
  const onData = (bytes: Buffer): void => {
    if (bytes.length > MOST_AT_ONCE) {
      socket.write(TOO_LONG);
      end();
    } else {
      socket.pause();
      const read = (): void => {
        if (outer.write(bytes)) socket.resume();
      };
      pass = bounded('connection/telemetry-read', read, end);
      turns.add(network, pass);
    }
  };
  const onDrain = (): void => void socket.resume();
  socket.on('data', bounded('connection/telemetry-data', onData, end));
  outer.on('drain', bounded('connection/telemetry-drain', onDrain, end));
  socket.once(
    'end',
    bounded('connection/telemetry-end', () => void outer.end(), end),
  );
  for (const one of [socket, inner]) one.once('close', bounded('connection/telemetry-gone', end, end)).on('error', () => {});
  socket.setTimeout(IDLE, bounded('connection/telemetry-idle', end, end));
  outer.pipe(socket);
  return inner;
}

function portOf(door: Server): number {
  const address = door.address();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

async function close({ server, door, open }: Listening): Promise<void> {
  // Stops the checking of timeouts.
  server.close();
  for (const socket of open) socket.destroy();
  if (door.listening) await once(door.close(), 'close');
}
