/**
 * Unary gRPC over HTTP/2 on a Unix socket, as far as CSI needs it.
 * Source: "gRPC over HTTP2" (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md). A request is a POST of one message with a five-byte
 * prefix. The response is one such message, with the status in trailers. Node.js includes HTTP/2; a gRPC library would cost the
 * idle driver on every node 5 MB of resident memory (docs/adr/0004).
 */
import { once } from 'node:events';
import { constants, createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { deadlineOf, encodeMessage, frame, unframe } from './grpc-wire.ts';
import { Status, type Refusal } from './grpc-status.ts';

/** Context of a call. */
export interface CallContext {
  /** Aborted when the caller disconnects, its deadline passes, or the server is cut. */
  readonly signal: AbortSignal;
  /** Deadline of the caller in milliseconds as of Date.now(); Infinity if it has no deadline. */
  readonly deadline: number;
  /** Number of the call, for logs. */
  readonly id: number;
}

export type Handler<Request, Response> = (request: Request, context: CallContext) => Promise<Response>;

/** A service as ts-proto generates it (`outputServices=generic-definitions`). */
export interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

interface MethodDefinition {
  readonly name: string;
  readonly requestType: { decode(input: Uint8Array): unknown };
  readonly responseType: { encode(message: never): { finish(): Uint8Array } };
}

/** A handler for each method of a service. */
export type Implementation<D extends ServiceDefinition> = {
  readonly [M in keyof D['methods']]: Handler<
    ReturnType<D['methods'][M]['requestType']['decode']>,
    Parameters<D['methods'][M]['responseType']['encode']>[0]
  >;
};

export interface Call extends CallContext {
  readonly method: string;
  readonly request: unknown;
}

/** Wraps every handler. Its result is the response to the caller; it must not reject. */
export type Around = (call: Call, next: () => Promise<Uint8Array>) => Promise<Uint8Array | Refusal>;

interface Method {
  readonly name: string;
  readonly decode: (input: Uint8Array) => unknown;
  readonly handle: Handler<unknown, Uint8Array>;
}

/** Maximum size of a request. Requests contain names and a few parameters. */
const MAX_MESSAGE_BYTES = 1 << 20;

export class GrpcServer {
  readonly #methods = new Map<string, Method>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #around: Around;
  #lastId = 0;
  readonly #http2 = createServer();

  constructor(around: Around) {
    this.#around = around;
    this.#http2.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    // A caller that violates the protocol loses only its own connection.
    this.#http2.on('sessionError', () => undefined);
    this.#http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => undefined);
      void this.#serve(stream, headers);
    });
  }

  add<D extends ServiceDefinition>(definition: D, implementation: Implementation<D>): void {
    for (const [key, { name, requestType, responseType }] of Object.entries(definition.methods)) {
      // Implementation<D> guarantees that the types of one method match. They are lost in a table of all methods.
      const handler = implementation[key] as Handler<unknown, never>;
      this.#methods.set(`/${definition.fullName}/${name}`, {
        name,
        decode: (input) => requestType.decode(input),
        handle: async (request, context) => responseType.encode(await handler(request, context)).finish(),
      });
    }
  }

  /** Creates the socket synchronously, under the current umask. Resolves when it accepts connections. */
  async listen(socket: string): Promise<void> {
    const listening = once(this.#http2, 'listening');
    this.#http2.listen(socket);
    await listening;
  }

  /** Refuses new calls, and resolves when the running ones have ended. */
  async close(): Promise<void> {
    if (!this.#http2.listening) return;
    const closed = once(this.#http2, 'close');
    this.#http2.close();
    for (const session of this.#sessions) session.close();
    await closed;
  }

  /** Ends the running calls too. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const isGrpc = headers[':method'] === 'POST' && /^application\/grpc($|[+;])/.test(headers['content-type'] ?? '');
    if (!isGrpc) {
      stream.respond({ ':status': 415 }, { endStream: true });
      return;
    }
    const method = this.#methods.get(headers[':path'] ?? '');
    const ended = new AbortController();
    stream.once('close', () => ended.abort());
    const deadline = deadlineOf(headers['grpc-timeout']);
    const overdue = (): void => {
      refuse(stream, { status: Status.DEADLINE_EXCEEDED, message: 'The deadline of the call has passed.' });
      ended.abort();
    };
    const timer = deadline === Infinity ? undefined : setTimeout(overdue, deadline - Date.now());
    try {
      const answer =
        method === undefined
          ? { status: Status.UNIMPLEMENTED, message: `The method ${headers[':path']} does not exist.` }
          : await this.#answer(method, stream, { signal: ended.signal, deadline, id: (this.#lastId += 1) });
      if (answer instanceof Uint8Array) succeed(stream, answer);
      else refuse(stream, answer);
    } catch {
      // The connection broke while the request was being read.
      stream.close(constants.NGHTTP2_CANCEL);
    } finally {
      clearTimeout(timer);
    }
  }

  async #answer(method: Method, stream: ServerHttp2Stream, context: CallContext): Promise<Uint8Array | Refusal> {
    const message = unframe(await readAll(stream, MAX_MESSAGE_BYTES));
    if ('status' in message) return message;
    let request: unknown;
    try {
      request = method.decode(message.bytes);
    } catch {
      return { status: Status.INTERNAL, message: `The request is not a message of ${method.name}.` };
    }
    return this.#around({ ...context, method: method.name, request }, () => method.handle(request, context));
  }
}

/** Undefined if the body exceeds the limit. Rejects if the caller disconnects before its end. */
function readAll(stream: ServerHttp2Stream, limit: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else resolve(undefined);
    });
    stream.once('end', () => resolve(Buffer.concat(chunks)));
    stream.once('close', () => reject(new Error('The request is incomplete.')));
  });
}

function succeed(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(Status.OK) }));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  stream.end(frame(message));
}

/** "Trailers-Only": the status is sent with the headers. */
function refuse(stream: ServerHttp2Stream, { status, message }: Refusal): void {
  if (stream.destroyed || stream.headersSent) return;
  // Discards unread data, so that it does not fill the connection's flow-control window.
  stream.resume();
  const headers = { 'grpc-status': String(status), 'grpc-message': encodeMessage(message) };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto', ...headers }, { endStream: true });
}
