import type { IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';

import type { Dispatcher } from 'undici';

import { TransportError } from '../errors.ts';

/** One request and its response over a pool's connection, without the overhead of a stream or fetch. */
export interface Exchange {
  /** Name in messages: `get Service default/web`. */
  readonly call: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body?: Buffer;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds within which the whole response must arrive. */
  readonly deadline: number;
  /** Maximum bytes of a collected body. */
  readonly maxBytes: number;
  readonly stream?: StreamedBody;
  /** Protocol to which the connection should be upgraded; the answer then has the socket. */
  readonly upgrade?: 'websocket';
}

/** Receives the body of a successful response in chunks instead of collecting it; used for watches. */
export interface StreamedBody {
  /** Milliseconds without data after which the response counts as stalled. */
  readonly idle: number;
  readonly onStart?: (status: number) => void;
  /** An error thrown here ends and rejects the exchange. */
  readonly onChunk: (chunk: Buffer) => void;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** Empty if the body was streamed. */
  readonly body: Buffer;
  /** After an upgrade (101). The caller owns it. */
  readonly socket?: Duplex;
}

const NOTHING = Buffer.alloc(0);
/** Maximum bytes of a streamed call's error body. Errors are short. */
const ERROR_BODY_LIMIT = 1_048_576;

/** Rejects with a TransportError, an error of `onChunk`, or the signal's reason. */
export function exchange(dispatcher: Dispatcher, request: Exchange): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (request.signal?.aborted === true) {
      reject(request.signal.reason);
      return;
    }
    const handler = new ExchangeHandler(request, resolve, reject);
    try {
      dispatcher.dispatch(
        {
          method: request.method,
          path: request.path,
          headers: [...request.headers],
          body: request.body ?? null,
          upgrade: request.upgrade ?? null,
        },
        handler,
      );
    } catch (cause) {
      // undici refuses the request itself (an invalid header), or is closed.
      handler.onResponseError(undefined, cause instanceof Error ? cause : new Error(String(cause)));
    }
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: Exchange;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #deadline: NodeJS.Timeout;
  readonly #startedAt = performance.now();
  #idle: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #sent = false;
  #status = 0;
  #retryAfter: string | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(request: Exchange, resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = setTimeout(this.#onDeadline, request.deadline);
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Ended while it waited for a connection, so it must not be sent any more.
    if (this.#settled) controller.abort(new Error('ended before it was sent'));
    else this.#sent = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#retryAfter = headers['retry-after'];
    if (!this.#streams()) return;
    this.#request.stream?.onStart?.(status);
    this.#idle = setTimeout(this.#onIdle, this.#request.stream?.idle);
  }

  onRequestUpgrade(_controller: Dispatcher.DispatchController, status: number, _headers: IncomingHttpHeaders, socket: Duplex): void {
    if (this.#settled) return void socket.destroy();
    this.#commit();
    this.#resolve({ status, retryAfter: undefined, body: NOTHING, socket });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#streams()) {
      this.#idle?.refresh();
      try {
        this.#request.stream?.onChunk(chunk);
      } catch (error) {
        this.#fail(error);
      }
      return;
    }
    this.#bytes += chunk.length;
    const limit = this.#request.stream === undefined ? this.#request.maxBytes : ERROR_BODY_LIMIT;
    if (this.#bytes > limit) this.#fail(this.#error('kube-too-large', `the response is larger than ${limit} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#commit();
    const [only = NOTHING] = this.#chunks;
    const body = this.#chunks.length <= 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
    this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, cause: Error): void {
    if (this.#settled) return;
    const why = `${cause.message === '' ? cause.name : cause.message}`;
    const error = this.#sent
      ? this.#error('kube-cut', `the connection broke before the response was complete: ${why}`, cause)
      : this.#error('kube-unreachable', `no connection to the API server: ${why}`, cause);
    this.#fail(error);
  }

  #streams(): boolean {
    return this.#request.stream !== undefined && this.#status >= 200 && this.#status < 300;
  }

  readonly #onAbort = (): void => {
    this.#fail(this.#request.signal?.reason);
  };

  readonly #onDeadline = (): void => {
    const waited = Math.round(performance.now() - this.#startedAt);
    const what = this.#sent ? 'no complete response' : 'no connection was free, and none could be opened';
    this.#fail(this.#error('kube-timeout', `${what} within ${waited} ms`));
  };

  readonly #onIdle = (): void => {
    this.#fail(this.#error('kube-timeout', `nothing arrived for ${this.#request.stream?.idle ?? 0} ms, not even a bookmark`));
  };

  #error(code: TransportError['code'], what: string, cause?: unknown): TransportError {
    return new TransportError(code, `${this.#request.call}: ${what}`, { sent: this.#sent, answered: this.#status !== 0, cause });
  }

  #fail(error: unknown): void {
    if (this.#settled) return;
    this.#commit();
    this.#reject(error);
    this.#chunks = [];
    this.#controller?.abort(error instanceof Error ? error : new Error('ended'));
  }

  #commit(): void {
    this.#settled = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
  }
}
