import { chmod } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { bounded } from '../../telemetry/boundary.ts';
import type { RouterApi } from './router-api.ts';

/** Serves a router's API on a Unix socket of mode 0600: whoever can open it may ask. */
export async function serveRouterApi(api: RouterApi, socket: string): Promise<AsyncDisposable> {
  const serve: RequestListener = (request, response) => {
    // Nothing is sent along; what is, is not read.
    request.resume();
    const { status, body, allow } = api.answer({ method: request.method ?? '', target: request.url ?? '' });
    response.writeHead(status, { 'content-type': 'application/json', ...(allow === undefined ? {} : { allow }) });
    response.end(`${JSON.stringify(body)}\n`);
  };
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 });
  server.maxConnections = MOST_CONNECTIONS;
  server.on(
    'request',
    bounded('request/api', serve, (_, __, response) => void response.destroy()),
  );
  server.listen({ path: socket, backlog: MOST_CONNECTIONS });
  await once(server, 'listening');
  // Until then the directory keeps others out.
  await chmod(socket, 0o600);
  // One accept that fails, for want of open files for example.
  server.on('error', () => {});
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

const MOST_CONNECTIONS = 32;
