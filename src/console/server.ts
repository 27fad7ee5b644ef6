/** HTTP server of the console: the page and its API. It changes nothing; a probe sends traffic. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { ShownAs } from '../errors/catalogue.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import { bounded, detached } from '../telemetry/boundary.ts';
import { messageOf } from '../telemetry/log.ts';
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';
import { PageAccess, ConsoleAddresses, type UserAccess } from './access.ts';
import { answerApi, failure, notPermitted, probe, type Answer } from './api.ts';
import type { PageAsset } from './assets.ts';
import { isPermitted, mayGet, type Admission } from './permissions.ts';
import { isOfProxy, LOOPBACK, listenForConsole, type ConsoleTls } from './listen.ts';
import { proxyIdentityOf } from './proxy-identity.ts';
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
  /** Access for users of a cluster. Default: one-time links. */
  readonly users?: UserAccess;
  /** Certificate and key in PEM, with which the server listens on all addresses. Default: HTTP on the loopback address. */
  readonly tls?: ConsoleTls;
}

export interface ConsoleServer extends AsyncDisposable {
  readonly port: number;
  /** @returns a link that one page can open within five minutes */
  createLink(): string;
  /** Applies to new connections. No-op without `tls`. */
  setTls(tls: ConsoleTls): void;
}

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

/** Milliseconds between two checks of what the user of an open stream may see. A check may get an answer that was cached just before. */
const CHECK_EVERY = 20_000;

/** @throws Error if the port cannot be opened, or if certificate and key do not fit */
export async function serveConsole({
  sources,
  watcher,
  assets,
  port,
  publicUrls,
  users,
  tls,
}: ConsoleServerOptions): Promise<ConsoleServer> {
  const access = new PageAccess();
  const files = new Map(assets.map((asset) => [asset.path, { ...asset, plain: gunzipSync(asset.gzip) }]));
  const admit = async ({ headers, headersDistinct, socket }: IncomingMessage): Promise<Admission | 'busy' | undefined> => {
    const now = sources.now();
    // Without an authority of proxies, headers that name users mean nothing.
    const user = tls?.proxyCa === undefined ? undefined : proxyIdentityOf(headersDistinct, isOfProxy(socket));
    if (user === 'refused') return undefined;
    if (user !== undefined && users?.admitUser !== undefined) return users.admitUser(user, now);
    return (users ?? access).admit({ authorization: headers.authorization, address: socket.remoteAddress ?? '', now });
  };
  const streams = new StreamSet(watcher);
  const probes = new RateLimiter(limitTable.consoleProbes.value);
  /** Number of requests of a connection that are not answered yet. The answers of further ones would wait in memory. */
  const unanswered = new WeakMap<Socket, number>();
  // `kubectl port-forward` may use any port of the user's machine.
  const addresses = (own: number): ConsoleAddresses =>
    new ConsoleAddresses(users === undefined ? own : undefined, publicUrls, users?.acceptsAnyHost);
  let names = addresses(port);
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
    if (!names.hasOrigin(headers.origin, headers.host))
      return refuse(response, 403, 'wrong-host', 'the request comes from a page of another site');
    const [target = '', query = ''] = (request.url ?? '').split('?', 2);
    const path = names.localPath(target);
    if (!path.startsWith('/api/')) return serveFile(files, path, request, response);
    if (path === '/api/v1/session' && users === undefined) {
      if (method !== 'POST') return answer(response, notAllowed('POST'));
      detached(
        'request/console-session',
        async () => signIn(access, await bodyOf(request), sources.now(), response),
        () => void response.destroy(),
      );
      return;
    }
    detached(
      'request/console-api',
      async () => serveApi(request, response, path, query),
      () => void response.destroy(),
    );
  };
  const serveApi = async (request: IncomingMessage, response: ServerResponse, path: string, query: string): Promise<void> => {
    const { method = '', headers } = request;
    let admission: Admission | 'busy' | undefined;
    try {
      admission = await admit(request);
    } catch (error) {
      return refuse(response, 503, 'no-review', `the API server did not answer whose token it is: ${printable(messageOf(error), 300)}`);
    }
    // The client left during the review. Nothing would close a stream for it.
    if (response.destroyed) return;
    if (admission === 'busy') return refuse(response, 429, 'too-many-reviews', 'too many unknown tokens or passwords were sent');
    if (users !== undefined) response.setHeader('www-authenticate', users.challenge);
    if (admission === undefined) return challenge(response, users);
    const { permissions } = admission;
    // Any pod of the cluster has a valid token. Only users with a right have connections that others cannot evict.
    if (mayGet(permissions, 'Site')) opened.admitted(request.socket);
    const use = { sources, watcher, permissions };
    if (path === '/api/v1/probe') {
      if (method !== 'POST') return answer(response, notAllowed('POST'));
      if (!probes.take(sources.now())) return answer(response, failure(429, 'too-many-probes', 'too many probes were started'));
      return answer(response, await probe(use, await bodyOf(request)));
    }
    request.resume();
    if (method !== 'GET') return answer(response, notAllowed('GET'));
    const parameters = new URLSearchParams(query);
    if (path !== '/api/v1/stream') return answer(response, await answerApi(use, path, parameters));
    if (!isPermitted(permissions, ['stream'])) return answer(response, notPermitted(sources));
    streams.open({ parameters, lastId: textOf(headers['last-event-id']), admission }, response);
    if (users !== undefined) endWithAdmission(response, admission, () => admit(request));
  };
  const opened = await listenForConsole(serve, port, tls);
  names = addresses(opened.port);
  return {
    port: opened.port,
    createLink: () =>
      `${publicUrls[0]?.href.replace(/\/*$/, '/') ?? `http://${LOOPBACK}:${opened.port}/`}#t=${access.createToken(sources.now())}`,
    setTls: opened.setTls,
    async [Symbol.asyncDispose]() {
      streams.close();
      await opened.close();
    },
  };
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

function challenge(response: ServerResponse, users: UserAccess | undefined): void {
  if (users === undefined) response.setHeader('www-authenticate', 'Bearer');
  response.setHeader('connection', 'close');
  if (users === undefined) return answer(response, failure(401, 'signed-out', 'the request has no valid bearer token'));
  answer(response, failure(401, 'signed-out', users.signedOut.message, users.signedOut.do));
}

/** Ends a stream once its user may see something else; the page then opens another one. */
function endWithAdmission(response: ServerResponse, before: Admission, admit: () => Promise<Admission | 'busy' | undefined>): void {
  const check = async (): Promise<void> => {
    const now = await admit();
    if (now === undefined || (now !== 'busy' && !isDeepStrictEqual(now, before))) response.destroy();
  };
  const start = (): void => detached('stream/console-rights', check, () => void response.destroy());
  const timer = setInterval(bounded('stream/console-rights-timer', start), CHECK_EVERY).unref();
  response.on(
    'close',
    bounded('stream/console-rights-closed', () => clearInterval(timer)),
  );
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
