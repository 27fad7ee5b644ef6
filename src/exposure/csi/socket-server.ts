import { lstat, unlink } from 'node:fs/promises';
import { ApiError, TransportError } from '../../kube/errors.ts';
import { withRefusalAdvice } from '../../kube/refusal.ts';
import type { Logger } from '../../telemetry/log.ts';
import { messageOf } from '../../telemetry/log.ts';
import { counter, duration } from '../../telemetry/metrics.ts';
import { createPrivately } from '../../net/private-socket.ts';
import { hasCode } from '../../files/errno.ts';
import { CsiError } from './errors.ts';
import { GrpcServer, type Around } from './grpc-server.ts';
import { nameOf, Status, type Refusal } from './grpc-status.ts';

export interface SocketServer extends AsyncDisposable {
  readonly socket: string;
  /** Whether the socket's file is still the one created here. */
  isReachable(): Promise<boolean>;
}

export interface SocketServerOptions {
  readonly socket: string;
  /** Adds the services; called once. */
  readonly services: (server: GrpcServer) => void;
  readonly log: Logger;
  /** Milliseconds in which running calls may end by themselves. */
  readonly stopMilliseconds?: number;
}

const calls = counter('earshot_csi_calls_total', 'CSI calls answered, by gRPC status.', ['method', 'status']);
const callSeconds = duration('earshot_csi_call_duration_seconds', 'Duration of CSI calls.', ['method']);

const STOP_MILLISECONDS = 5_000;
/** Maximum length of sun_path (unix(7)) without the terminating zero byte. */
const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Serves gRPC on a Unix socket that only this user can open. Disposing it waits for running calls and then cuts them. An error of
 * an implementation becomes a status with a message. Unimplemented methods return UNIMPLEMENTED.
 */
export async function serveOnSocket(options: SocketServerOptions): Promise<SocketServer> {
  const { socket, services, log, stopMilliseconds = STOP_MILLISECONDS } = options;
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH_BYTES) {
    throw new CsiError('csi-socket', `The socket's path ${socket} has more than ${MAX_SOCKET_PATH_BYTES} bytes. Use a shorter one.`);
  }
  await removeStaleSocket(socket);
  const server = new GrpcServer(observeCalls(log));
  services(server);
  const listening = createPrivately(() => server.listen(socket)).catch((error: unknown) => {
    throw new CsiError('csi-socket', `Cannot listen on ${socket}: does its folder exist, and may this user write to it?`, error);
  });
  await listening;
  const created = await lstat(socket);
  return {
    socket,
    async isReachable() {
      const found = await lstat(socket).catch(() => undefined);
      return found?.ino === created.ino && found.dev === created.dev;
    },
    async [Symbol.asyncDispose]() {
      const cut = setTimeout(() => server.cut(), stopMilliseconds).unref();
      await server.close();
      clearTimeout(cut);
    },
  };
}

/** Removes the socket of a killed process, with which bind(2) would fail. */
async function removeStaleSocket(socket: string): Promise<void> {
  try {
    if (!(await lstat(socket)).isSocket()) {
      throw new CsiError('csi-socket', `${socket} exists and is not a socket. Remove it, or choose another path.`);
    }
    await unlink(socket);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function observeCalls(log: Logger): Around {
  return async ({ id, method, request, signal }, next) => {
    const started = performance.now();
    const about = { call: id, method, ...subjectOf(request) };
    log.debug(about, 'call received');
    let answer: Uint8Array | Refusal;
    let problem: unknown;
    try {
      answer = await next();
    } catch (error) {
      problem = error;
      answer = signal.aborted ? { status: Status.CANCELLED, message: 'The caller disconnected.' } : refusalOf(error);
    }
    const status = nameOf(answer instanceof Uint8Array ? Status.OK : answer.status);
    const milliseconds = performance.now() - started;
    calls.inc({ method, status });
    callSeconds.observe({ method }, milliseconds / 1_000);
    report(log, { ...about, status, milliseconds: Math.round(milliseconds) }, problem);
    return answer;
  };
}

function report(log: Logger, call: Readonly<Record<string, unknown>>, problem: unknown): void {
  if (problem === undefined) log.debug(call, 'call answered');
  else if (isExpected(problem) || call['status'] === 'CANCELLED') log.warn({ ...call, reason: messageOf(problem) }, 'call refused');
  else log.error({ ...call, error: problem }, 'call failed');
}

/** The volume of a request, for the log. */
function subjectOf(request: unknown): { readonly volume?: unknown } {
  if (typeof request !== 'object' || request === null) return {};
  if ('volumeId' in request) return { volume: request.volumeId };
  return 'name' in request ? { volume: request.name } : {};
}

function isExpected(error: unknown): boolean {
  return error instanceof CsiError || error instanceof ApiError || error instanceof TransportError;
}

/**
 * Converts an error to a status and message. Unexpected errors are included, because the caller shows them to the user who waits
 * for the pod.
 */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof CsiError) return { status: error.status, message: error.message };
  if (error instanceof TransportError) return { status: Status.UNAVAILABLE, message: `The API server did not answer: ${messageOf(error)}` };
  if (error instanceof ApiError) {
    const isForbidden = error.status === 401 || error.status === 403;
    return { status: isForbidden ? Status.FAILED_PRECONDITION : Status.UNAVAILABLE, message: withRefusalAdvice(messageOf(error), error) };
  }
  return { status: Status.INTERNAL, message: `Unexpected: ${messageOf(error)}. See the log of the driver.` };
}
