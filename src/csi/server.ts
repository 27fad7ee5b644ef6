import { lstat, unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, ServerError, type CallContext, type Server, type ServerMiddlewareCall } from 'nice-grpc';
import { Status } from 'nice-grpc-common';
import { ApiError, TransportError } from '../kube/errors.ts';
import type { Logger } from '../telemetry/log.ts';
import { messageOf } from '../telemetry/log.ts';
import { hasCode } from './directory.ts';
import { CsiError } from './errors.ts';
import { calls, callSeconds } from './metrics.ts';

export interface SocketServer extends AsyncDisposable {
  readonly socket: string;
  /** Whether the socket's file is still the one that was made here. */
  isReachable(): Promise<boolean>;
}

export interface SocketServerOptions {
  readonly socket: string;
  /** Adds the services; called once. */
  readonly services: (server: Server) => void;
  readonly log: Logger;
  /** What running calls get to end by themselves. */
  readonly stopMilliseconds?: number;
}

const STOP_MILLISECONDS = 5_000;
/** sun_path (unix(7)), without the closing zero. */
const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Serves gRPC on a Unix socket that only this user can open. Disposing it lets running calls end, and then cuts them.
 * What an implementation throws becomes a status with a message; methods that nobody implements answer UNIMPLEMENTED.
 */
export async function serveOnSocket(options: SocketServerOptions): Promise<SocketServer> {
  const { socket, services, log, stopMilliseconds = STOP_MILLISECONDS } = options;
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH_BYTES) {
    throw new CsiError('CSI_SOCKET', `The socket's path ${socket} has more than ${MAX_SOCKET_PATH_BYTES} bytes. Use a shorter one.`);
  }
  await removeStaleSocket(socket);
  const server = createServer().use(observeCalls(log));
  services(server);
  const umask = process.umask(0o177);
  try {
    await server.listen(`unix:${socket}`);
  } catch (error) {
    throw new CsiError('CSI_SOCKET', `Cannot listen on ${socket}: does its folder exist, and may this user write to it?`, error);
  } finally {
    process.umask(umask);
  }
  const made = await lstat(socket);
  return {
    socket,
    async isReachable() {
      const found = await lstat(socket).catch(() => undefined);
      return found?.ino === made.ino && found.dev === made.dev;
    },
    async [Symbol.asyncDispose]() {
      const isDone = new AbortController();
      const cut = delay(stopMilliseconds, undefined, { signal: isDone.signal, ref: false }).then(() => server.forceShutdown(), () => undefined);
      await Promise.race([server.shutdown(), cut]);
      isDone.abort();
    },
  };
}

/** A process that was killed leaves its socket behind, and bind(2) then fails. */
async function removeStaleSocket(socket: string): Promise<void> {
  try {
    if (!(await lstat(socket)).isSocket()) {
      throw new CsiError('CSI_SOCKET', `${socket} exists and is no socket. Remove it, or choose another path.`);
    }
    await unlink(socket);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function observeCalls(log: Logger) {
  return async function* observe<Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
    const method = call.method.path.slice(call.method.path.lastIndexOf('/') + 1);
    const started = performance.now();
    let status: Status = Status.OK;
    let problem: unknown;
    try {
      return yield* call.next(call.request, context);
    } catch (error) {
      problem = error;
      const refusal = context.signal.aborted ? new ServerError(Status.CANCELLED, 'The caller went away.') : refusalOf(error);
      status = refusal.code;
      throw refusal;
    } finally {
      const milliseconds = performance.now() - started;
      calls.inc({ method, status: Status[status] });
      callSeconds.observe({ method }, milliseconds / 1_000);
      report(log, { method, status: Status[status], milliseconds: Math.round(milliseconds), ...subjectOf(call.request) }, problem);
    }
  };
}

function report(log: Logger, call: Readonly<Record<string, unknown>>, problem: unknown): void {
  if (problem === undefined) log.debug(call, 'call');
  else if (isExpected(problem) || call['status'] === Status[Status.CANCELLED]) log.warn({ ...call, reason: messageOf(problem) }, 'call refused');
  else log.error({ ...call, error: problem }, 'call failed');
}

/** The volume that a request is about, for the log. */
function subjectOf(request: unknown): { readonly volume?: unknown } {
  if (typeof request !== 'object' || request === null) return {};
  if ('volumeId' in request) return { volume: request.volumeId };
  return 'name' in request ? { volume: request.name } : {};
}

function isExpected(error: unknown): boolean {
  return error instanceof CsiError || error instanceof ApiError || error instanceof TransportError;
}

/** Also tells the caller of what nobody expected, since the caller shows it to the person who waits for the pod. */
function refusalOf(error: unknown): ServerError {
  if (error instanceof CsiError) return new ServerError(error.status, error.message);
  if (error instanceof TransportError) return new ServerError(Status.UNAVAILABLE, `The API server did not answer: ${messageOf(error)}`);
  if (error instanceof ApiError) {
    const isForbidden = error.status === 401 || error.status === 403;
    const hint = isForbidden ? ' The RBAC rules of the installation must allow this: install them again as the chart does.' : '';
    return new ServerError(isForbidden ? Status.FAILED_PRECONDITION : Status.UNAVAILABLE, messageOf(error) + hint);
  }
  return new ServerError(Status.INTERNAL, `Unexpected: ${messageOf(error)}. The driver's log has more.`);
}
