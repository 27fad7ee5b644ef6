/** Handles each request to the console, from its address to its answer: a file of the page, a session, the API or a stream. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import { bounded, detached } from '../telemetry/boundary.ts';
import { messageOf } from '../telemetry/log.ts';
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';
import { type ConsoleAddresses, PageAccess, type UserAccess } from './access.ts';
import { answer, bodyOf, challenge, notAllowed, refuse } from './answers.ts';
import { answerApi, failure, notPermitted, probe, type ApiUse } from './api.ts';
import type { PageAsset } from './assets.ts';
import { isOfProxy } from './listen.ts';
import { readPageFiles, serveFile, type PageFiles } from './page-files.ts';
import { isPermitted, mayGet, type Admission } from './permissions.ts';
import { proxyIdentityOf } from './proxy-identity.ts';
import type { ConsoleSources } from './sources.ts';
import { StreamSet } from './stream.ts';
import type { Watcher } from './watcher.ts';

export interface RequestHandlerOptions {
  readonly sources: ConsoleSources;
  readonly watcher: Watcher;
  readonly assets: readonly PageAsset[];
  /** Access for users of a cluster. Default: one-time links. */
  readonly users?: UserAccess;
}

/** Socket that serves the console. */
export interface ServedPort {
  /** Addresses that the requests may have. */
  readonly addresses: ConsoleAddresses;
  /** Whether proxies with a certificate may name their users in headers. */
  readonly hasProxies: boolean;
  /** Called once a client has shown a valid token. */
  admitted(socket: Socket): void;
}

const securityHeaders: Readonly<Record<string, string>> = {
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

export class RequestHandler implements Disposable {
  readonly #options: RequestHandlerOptions;
  readonly #access = new PageAccess();
  readonly #files: PageFiles;
  readonly #streams: StreamSet;
  readonly #probes = new RateLimiter(limitTable.consoleProbes.value);
  /** Number of requests of a connection that are not answered yet. The answers of further ones would wait in memory. */
  readonly #unanswered = new WeakMap<Socket, number>();

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
    this.#files = readPageFiles(options.assets);
    this.#streams = new StreamSet(options.watcher);
  }

  /** @returns a token that one page can exchange within five minutes */
  createToken(): string {
    return this.#access.createToken(this.#options.sources.now());
  }

  [Symbol.dispose](): void {
    this.#streams.close();
  }

  handle(request: IncomingMessage, response: ServerResponse, port: ServedPort): void {
    if (!this.#isNext(request.socket, response)) return void request.socket.destroy();
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    const { headers, method } = request;
    const { addresses } = port;
    if (!addresses.has(headers.host)) return refuse(response, 421, 'wrong-host', 'the console does not have the address of the request');
    if (!addresses.hasOrigin(headers.origin, { host: headers.host, isSecure: isSecure(request) }))
      return refuse(response, 403, 'wrong-host', 'the request comes from a page of another site');
    const [target = '', query = ''] = (request.url ?? '').split('?', 2);
    const path = addresses.localPath(target);
    const end = (): void => void response.destroy();
    if (!path.startsWith('/api/')) return serveFile(this.#files, path, request, response);
    if (isOfAnotherSite(headers)) return refuse(response, 403, 'wrong-host', 'the request comes from a page of another site');
    if (path !== '/api/v1/session' || this.#options.users !== undefined)
      return detached('request/console-api', () => this.#serveApi(request, response, { path, query, port }), end);
    if (method !== 'POST') return answer(response, notAllowed('POST'));
    detached('request/console-session', async () => this.#signIn(await bodyOf(request), response), end);
  }

  /** Counts the request until its answer. @returns whether the connection may have one more */
  #isNext(socket: Socket, response: ServerResponse): boolean {
    const waiting = this.#unanswered.get(socket) ?? 0;
    if (waiting >= limitTable.consoleRequests.value) return false;
    this.#unanswered.set(socket, waiting + 1);
    const answered = (): void => void this.#unanswered.set(socket, (this.#unanswered.get(socket) ?? 1) - 1);
    response.once('close', bounded('request/console-answered', answered, answered));
    return true;
  }

  #signIn(body: unknown, response: ServerResponse): void {
    const token = isRecord(body) && typeof body['token'] === 'string' ? body['token'] : '';
    const bearer = this.#access.exchange(token.slice(0, 128), this.#options.sources.now());
    if (bearer === undefined) return refuse(response, 401, 'signed-out', 'the link was used already, or has expired');
    answer(response, { status: 200, body: { bearer } });
  }

  async #serveApi(
    request: IncomingMessage,
    response: ServerResponse,
    { path, query, port }: { readonly path: string; readonly query: string; readonly port: ServedPort },
  ): Promise<void> {
    const admission = await this.#admit(request, response, port);
    if (admission === undefined) return;
    const { permissions } = admission;
    // Any pod of the cluster has a valid token. Only users with a right have connections that others cannot evict.
    const isUser = mayGet(permissions, 'Site');
    if (isUser) port.admitted(request.socket);
    const { sources, watcher } = this.#options;
    if (isUser && permissions.exposure) watcher.useExposure();
    const use = { sources, watcher, permissions };
    if (path === '/api/v1/probe') return this.#probe(request, response, use);
    request.resume();
    if (request.method !== 'GET') return answer(response, notAllowed('GET'));
    const parameters = new URLSearchParams(query);
    if (path !== '/api/v1/stream') return answer(response, await answerApi(use, path, parameters));
    this.#openStream(request, response, { admission, parameters, port });
  }

  /** Refuses the request if nothing admits it. */
  async #admit(request: IncomingMessage, response: ServerResponse, port: ServedPort): Promise<Admission | undefined> {
    const { users } = this.#options;
    let admission: Admission | 'busy' | undefined;
    try {
      admission = await this.#admissionOf(request, port);
    } catch (error) {
      const message = `the API server did not answer whose token it is: ${printable(messageOf(error), 300)}`;
      return void refuse(response, 503, 'no-review', message);
    }
    // The client left during the review. Nothing would close a stream for it.
    if (response.destroyed) return undefined;
    if (admission === 'busy') return void refuse(response, 429, 'too-many-reviews', 'too many unknown tokens or passwords were sent');
    if (users !== undefined) response.setHeader('www-authenticate', users.challenge);
    if (admission === undefined) return void challenge(response, users);
    return admission;
  }

  async #admissionOf({ headers, headersDistinct, socket }: IncomingMessage, port: ServedPort): Promise<Admission | 'busy' | undefined> {
    const { users, sources } = this.#options;
    const now = sources.now();
    // Without an authority of proxies, headers that name users mean nothing.
    const user = port.hasProxies ? proxyIdentityOf(headersDistinct, isOfProxy(socket)) : undefined;
    if (user === 'refused') return undefined;
    if (user !== undefined && users?.admitUser !== undefined) return users.admitUser(user, now);
    return (users ?? this.#access).admit({ authorization: headers.authorization, address: socket.remoteAddress ?? '', now });
  }

  async #probe(request: IncomingMessage, response: ServerResponse, use: ApiUse): Promise<void> {
    if (request.method !== 'POST') return answer(response, notAllowed('POST'));
    if (!this.#probes.take(use.sources.now())) return answer(response, failure(429, 'too-many-probes', 'too many probes were started'));
    answer(response, await probe(use, await bodyOf(request)));
  }

  #openStream(
    request: IncomingMessage,
    response: ServerResponse,
    { admission, parameters, port }: { readonly admission: Admission; readonly parameters: URLSearchParams; readonly port: ServedPort },
  ): void {
    const { users, sources } = this.#options;
    if (!isPermitted(admission.permissions, ['stream'])) return answer(response, notPermitted(sources));
    const last = request.headers['last-event-id'];
    this.#streams.open({ parameters, lastId: typeof last === 'string' ? last : undefined, admission }, response);
    if (users !== undefined) endWithAdmission(response, admission, () => this.#admissionOf(request, port));
  }
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

/** Whether the browser's request came by HTTPS: to a proxy, as its header says, or to the console itself. */
function isSecure({ headers, socket }: IncomingMessage): boolean {
  const [scheme] = String(headers['x-forwarded-proto'] ?? '').split(',');
  const forwarded = scheme?.trim().toLowerCase();
  return forwarded === 'https' || (forwarded !== 'http' && socket instanceof TLSSocket);
}

/** Fetch Metadata of browsers. A page of another site can send `GET` without `Origin`, and the browser adds the user's password. */
function isOfAnotherSite({ 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}
