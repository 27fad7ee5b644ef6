/** HTTP server of the console on the loopback address: the page and its API. It changes nothing; a probe sends traffic. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { ShownAs } from '../errors/catalogue.ts';
import { AdmissionSlots } from '../limits/admission-slots.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import { bounded, detached } from '../telemetry/boundary.ts';
import { isRecord } from '../text/is-record.ts';
import { PageAccess, ConsoleAddresses } from './access.ts';
import { answerApi, failure, probe, type Answer } from './api.ts';
import type { PageAsset } from './assets.ts';
import { StreamSet } from './stream.ts';
import type { ConsoleSources } from './sources.ts';
import type { Watcher } from './watcher.ts';

export interface ConsoleServerOptions {
  readonly sources: ConsoleSources;
  readonly watcher: Watcher;
  readonly assets: readonly PageAsset[];
  /** Port on the loopback address; 0 for any free one. */
  readonly port: number;
  /** Further addresses of the console, such as that of a proxy. */
  readonly publicUrls: readonly URL[];
}

export interface ConsoleServer extends AsyncDisposable {
  readonly port: number;
  /** @returns a link that one page can open within five minutes */
  createLink(): string;
}

/** Address of the console. */
export const CONSOLE_HOST = '127.0.0.1';

export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** @throws Error if the port cannot be opened */
export async function serveConsole({ sources, watcher, assets, port, publicUrls }: ConsoleServerOptions): Promise<ConsoleServer> {
  const access = new PageAccess();
  const files = new Map(assets.map((asset) => [asset.path, { ...asset, plain: gunzipSync(asset.gzip) }]));
  const streams = new StreamSet(watcher);
  const probes = new RateLimiter(limitTable.consoleProbes.value);
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 2_500, maxHeaderSize: 16_384 });
  server.maxConnections = limitTable.consoleConnections.value;
  const unauthenticated = limitUnauthenticated(server);
  /** Number of requests of a connection that are not answered yet. The answers of further ones would wait in memory. */
  const unanswered = new WeakMap<Socket, number>();
  let names = new ConsoleAddresses(port, publicUrls);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const waiting = unanswered.get(socket) ?? 0;
    if (waiting >= limitTable.consoleRequests.value) return void socket.destroy();
    unanswered.set(socket, waiting + 1);
    const answered = (): void => void unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1);
    response.once('close', bounded('request/console-answered', answered, answered));
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    const { method = '', headers } = request;
    if (!names.has(headers.host)) return refuse(response, 421, 'wrong-host', 'the console does not have the address of the request');
    if (!names.hasOrigin(headers.origin)) return refuse(response, 403, 'wrong-host', 'the request comes from a page of another site');
    const [target = '', query = ''] = (request.url ?? '').split('?', 2);
    const path = names.localPath(target);
    if (!path.startsWith('/api/')) return serveFile(files, path, request, response);
    if (path === '/api/v1/session') {
      if (method !== 'POST') return answer(response, notAllowed('POST'));
      detached(
        'request/console-session',
        async () => signIn(access, await bodyOf(request), sources.now(), response),
        () => void response.destroy(),
      );
      return;
    }
    if (!access.admit(headers.authorization, sources.now())) {
      response.setHeader('www-authenticate', 'Bearer');
      return refuse(response, 401, 'signed-out', 'the request has no valid bearer token');
    }
    unauthenticated.leave(socket);
    if (path === '/api/v1/probe') {
      if (method !== 'POST') return answer(response, notAllowed('POST'));
      if (!probes.take(sources.now())) return answer(response, failure(429, 'too-many-probes', 'too many probes were started'));
      detached(
        'request/console-probe',
        async () => answer(response, await probe(sources, await bodyOf(request))),
        () => void response.destroy(),
      );
      return;
    }
    request.resume();
    if (method !== 'GET') return answer(response, notAllowed('GET'));
    const parameters = new URLSearchParams(query);
    if (path === '/api/v1/stream') return streams.open(parameters, textOf(headers['last-event-id']), response);
    detached(
      'request/console-api',
      async () => answer(response, await answerApi(sources, watcher, path, parameters)),
      () => void response.destroy(),
    );
  };
  server.on(
    'request',
    bounded('request/console', serve, (_, __, response) => void response.destroy()),
  );
  server.listen({ port, host: CONSOLE_HOST });
  await once(server, 'listening');
  server.on('error', () => {});
  const address = server.address();
  const opened = typeof address === 'object' && address !== null ? address.port : port;
  names = new ConsoleAddresses(opened, publicUrls);
  return {
    port: opened,
    createLink: () =>
      `${publicUrls[0]?.href.replace(/\/*$/, '/') ?? `http://${CONSOLE_HOST}:${opened}/`}#t=${access.createToken(sources.now())}`,
    async [Symbol.asyncDispose]() {
      streams.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** @returns slots of connections without a valid bearer token so far */
function limitUnauthenticated(server: Server): AdmissionSlots<Socket> {
  const most = limitTable.consoleUnauthenticated.value;
  const slots = new AdmissionSlots<Socket>({ most, mostOfGroup: most }, ({ bytesRead }) => bytesRead > 0);
  const admit = (socket: Socket): void => {
    const leave = (): void => slots.leave(socket);
    socket.once('close', bounded('connection/console-closed', leave, leave));
    slots.enter(socket, socket.remoteAddress ?? '')?.destroy();
  };
  server.on(
    'connection',
    bounded('connection/console', admit, (_, socket) => void socket.destroy()),
  );
  return slots;
}

const textOf = (field: string | readonly string[] | undefined): string | undefined => (typeof field === 'string' ? field : undefined);

type ServedFile = PageAsset & { readonly plain: Buffer };

function serveFile(files: ReadonlyMap<string, ServedFile>, path: string, request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, notAllowed('GET, HEAD'));
  const file = files.get(path === '/' ? 'index.html' : path.slice(1));
  if (file === undefined) return answer(response, failure(404, 'not-found', 'this path does not exist', 'Open the page at /.'));
  // The name of every other file has a hash of its content.
  if (path !== '/') response.setHeader('cache-control', 'private, max-age=31536000, immutable');
  response.setHeader('content-type', file.type);
  response.setHeader('vary', 'accept-encoding');
  const compressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (compressed) response.setHeader('content-encoding', 'gzip');
  const content = compressed ? file.gzip : file.plain;
  response.setHeader('content-length', content.length);
  response.end(request.method === 'HEAD' ? undefined : content);
}

function signIn(access: PageAccess, body: unknown, now: number, response: ServerResponse): void {
  const token = isRecord(body) && typeof body['token'] === 'string' ? body['token'] : '';
  const bearer = access.exchange(token.slice(0, 128), now);
  if (bearer === undefined) return refuse(response, 401, 'signed-out', 'the link was used already, or has expired');
  answer(response, { status: 200, body: { bearer } });
}

/** @returns undefined for a body that is too long or is not JSON */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > limitTable.consoleBody.value) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Ends the connection too, so that clients without access cannot hold connections open. */
function refuse(response: ServerResponse, status: number, code: ShownAs<'answer'>, message: string): void {
  response.setHeader('connection', 'close');
  answer(response, failure(status, code, message));
}

function notAllowed(allow: string): Answer {
  return { ...failure(405, 'usage', 'this path does not support the method', `Use ${allow}.`), allow };
}

function answer(response: ServerResponse, { status, body, allow }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...(allow === undefined ? {} : { allow }) });
  response.end(`${JSON.stringify(body)}\n`);
}
