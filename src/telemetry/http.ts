import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import { bounded, detached } from './boundary.ts';
import { metrics } from './metrics.ts';

/** Why a probe fails, in words for `kubectl describe`; undefined when all is well. */
export type Probe = () => string | undefined;

export interface TelemetryServer extends AsyncDisposable {
  readonly port: number;
}

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
        const text = await metrics.metrics();
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
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 });
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
