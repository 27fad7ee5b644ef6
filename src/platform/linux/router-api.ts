/** Server and client of the API of a router on this machine, over a Unix socket. */
import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RouterApi } from '../../agent/api/router-api.ts';
import { serveSocketApi } from '../../agent/api/serve.ts';
import { routerAnswerError } from '../../errors/router-answer-error.ts';
import { hasCode } from '../../files/errno.ts';
import { limitTable } from '../../limits/table.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import type { ApiMethod } from '../resources.ts';
import { routerFiles, type NamespaceLayout, type RunningRouter } from './layout.ts';
import { LONGEST_SOCKET_PATH, lockOf } from './routers.ts';
import { hasOpen, pidHere } from './running-process.ts';

/** A failure to open the socket does not affect the router. */
export async function serveApi(
  layout: NamespaceLayout,
  router: string,
  api: RouterApi,
  log: Logger,
  metrics?: Parameters<typeof serveSocketApi>[2],
): Promise<AsyncDisposable> {
  const { api: socket } = routerFiles(layout, router);
  try {
    if (Buffer.byteLength(socket) > LONGEST_SOCKET_PATH) throw new Error(`its path has more than ${LONGEST_SOCKET_PATH} bytes`);
    return await serveSocketApi(api, socket, metrics);
  } catch (error) {
    log.warn({ socket }, `the router API cannot be served: ${messageOf(error)}`);
    return { [Symbol.asyncDispose]: () => Promise.resolve() };
  }
}

/** @throws Error if the request fails */
export async function notifyRouter(layout: NamespaceLayout, running: RunningRouter, what: 'reload' | 'stop'): Promise<void> {
  try {
    await askRouter(layout, running.router, `/v1/${what}`, 'POST');
  } catch (error) {
    // An earlier version has no socket. A path may be too long for a socket.
    const pid = pidHere(running);
    // Its container may write any PID into the state file.
    const isRouter = pid !== undefined && hasOpen(pid, lockOf(layout, running.router));
    if (!isRouter || !hasCode(error, 'ENOENT', 'EINVAL')) throw error;
    process.kill(pid, what === 'stop' ? 'SIGTERM' : 'SIGHUP');
  }
}

/** Returns the response of a path of a router's API. @param signal default: 5 s @throws Error if the request or the response fails */
export async function askRouter(
  layout: NamespaceLayout,
  router: string,
  path: string,
  method: ApiMethod = 'GET',
  signal?: AbortSignal,
): Promise<unknown> {
  return JSON.parse(await askRouterText(layout, router, path, method, signal));
}

/** The same for `/metrics`, which is text. */
export async function askRouterText(
  layout: NamespaceLayout,
  router: string,
  path: string,
  method?: ApiMethod,
  signal?: AbortSignal,
): Promise<string> {
  return askSocket(routerFiles(layout, router).api, path, method, signal);
}

/** Reads such a text while it arrives. @throws Error if the request or the response fails */
export async function readRouterText(layout: NamespaceLayout, router: string, path: string, read: (text: string) => void): Promise<void> {
  return readSocket(routerFiles(layout, router).api, path, read);
}

/** Returns the response of an API on a Unix socket. @throws Error if the request fails, or its status is not one of success */
export async function askSocket(
  socketPath: string,
  path: string,
  method: ApiMethod = 'GET',
  signal: AbortSignal = AbortSignal.timeout(PATIENCE),
): Promise<string> {
  return text(await openSocket({ socketPath, path, method, signal }));
}

/** Reads such a response while it arrives. @throws as `askSocket` */
export async function readSocket(socketPath: string, path: string, read: (text: string) => void): Promise<void> {
  const response = await openSocket({ socketPath, path, method: 'GET', signal: AbortSignal.timeout(PATIENCE) });
  for await (const chunk of response.setEncoding('utf8')) read(String(chunk));
}

/** A console asks dozens of other sites a second through a router. Idle connections keep no process running. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: limitTable.consoleObservations.value });

type SocketRequest = Pick<RequestOptions, 'socketPath' | 'path' | 'method' | 'signal'>;

async function openSocket(options: SocketRequest): Promise<IncomingMessage> {
  const response = await responseTo(options);
  const { statusCode = 0 } = response;
  if (statusCode < 300) return response;
  throw routerAnswerError(statusCode, (await text(response)).slice(0, 200));
}

/** Repeats a read whose connection was closed while it was idle: only its use shows that (RFC 9112 section 9.3.1). */
async function responseTo(options: SocketRequest): Promise<IncomingMessage> {
  const asked = request({ ...options, agent }).end();
  try {
    // The event has one argument.
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return response;
  } catch (error) {
    if (options.method !== 'GET' || !asked.reusedSocket || options.signal?.aborted === true) throw error;
    return responseTo(options);
  }
}

/** Milliseconds. */
const PATIENCE = 5_000;
