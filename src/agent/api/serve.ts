import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createPrivately } from '../../net/private-socket.ts';
import { bounded } from '../../telemetry/boundary.ts';
import type { ApiAnswer, RouterApi } from './router-api.ts';

/** API of JSON answers, such as a router's. */
export type ServedApi = Pick<RouterApi, 'answer'>;

/**
 * Serves an API on a Unix socket of mode 0600. Every process that can open the socket has access.
 * @param metrics answers `/metrics`: other processes may not reach the port for metrics of a router in a container
 */
export async function serveSocketApi(
  api: ServedApi,
  socket: string,
  metrics?: (response: ServerResponse) => void,
): Promise<AsyncDisposable> {
  const serve: RequestListener = (request, response) => {
    // Requests have no body. Discard one that comes anyway.
    request.resume();
    if (metrics !== undefined && request.method === 'GET' && request.url === '/metrics') return metrics(response);
    serveRequest(api, request, response);
  };
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 });
  server.maxConnections = MOST_CONNECTIONS;
  server.on(
    'request',
    bounded('request/api', serve, (_, __, response) => void response.destroy()),
  );
  createPrivately(() => server.listen({ path: socket, backlog: MOST_CONNECTIONS }));
  await once(server, 'listening');
  // A failed accept, for example because too many files are open, must not end the process.
  server.on('error', () => {});
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** Answers a request, at once unless it takes time. */
export function serveRequest(api: ServedApi, { method = '', url = '' }: IncomingMessage, response: ServerResponse): void {
  const answer = api.answer({ method, target: url });
  if (!(answer instanceof Promise)) return answerWith(answer, response);
  const end = (): void => void response.destroy();
  const later = bounded('request/api-later', (found: ApiAnswer) => answerWith(found, response), end);
  answer.then(later, bounded('request/api-failed', end, end));
}

export function answerWith({ status, body, allow }: ApiAnswer, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': 'application/json', ...(allow === undefined ? {} : { allow }) });
  response.end(`${JSON.stringify(body)}\n`);
}

const MOST_CONNECTIONS = 32;
