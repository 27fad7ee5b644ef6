import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { metrics } from './metrics.ts';

/** Why a probe fails, in words for `kubectl describe`; undefined when all is well. */
export type Probe = () => string | undefined;

export interface TelemetryServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * Serves `/metrics` (Prometheus text), `/livez` and `/readyz` (200 `ok`, or 503 with the reason). Port 0 takes any
 * free port.
 */
export async function serveTelemetry(options: {
  readonly port: number;
  /** Address to listen on; left out: all. */
  readonly host?: string;
  readonly live: Probe;
  readonly ready: Probe;
}): Promise<TelemetryServer> {
  const probes: Readonly<Record<string, Probe>> = { '/livez': options.live, '/readyz': options.ready };
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const probe = Object.hasOwn(probes, path) ? probes[path] : undefined;
    if (probe !== undefined) {
      const problem = probe();
      response.writeHead(problem === undefined ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`${problem ?? 'ok'}\n`);
    } else if (path === '/metrics') {
      metrics.metrics().then(
        (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    } else {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('not found; this port serves /metrics, /livez and /readyz\n');
    }
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 10_000;
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return { port: portOf(server), [Symbol.asyncDispose]: () => close(server) };
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
