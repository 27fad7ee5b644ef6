import { HeadReader, type Framing } from './http1-head.ts';
import { tapOf, type RequestSink, type Tap, type Taps } from './contract.ts';

/** Maximum number of requests that a client may pipeline (RFC 9112 section 9.3.2). With more, the connection is no longer observed. */
const MOST_PIPELINED = 1_000;

/** Parses HTTP/1.0 and 1.1 (RFC 9112) in both directions of a connection. */
export class Http1Observer implements Taps {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
  readonly #sink: RequestSink;
  readonly #requests: HeadReader;
  readonly #responses: HeadReader;
  /** Methods and start times of the requests without a response, oldest first. */
  readonly #methods: string[] = [];
  readonly #since: number[] = [];

  constructor(sink: RequestSink) {
    this.#sink = sink;
    this.#requests = new HeadReader('request', (framing, method) => this.#requestHead(framing, method));
    this.#responses = new HeadReader('response', (framing, _method, status) => this.#responseHead(framing, status));
    this.fromClient = tapOf(
      this.#requests,
      () => this.#stop(),
      () => this.#methods.length,
    );
    this.fromServer = tapOf(this.#responses, () => this.#stop());
  }

  /** @returns the framing of the request's body, or undefined to stop parsing */
  #requestHead(framing: Framing, method: string): Framing | undefined {
    if (this.#methods.length >= MOST_PIPELINED) return undefined;
    this.#methods.push(method);
    this.#since.push(performance.now());
    // After a CONNECT follows a tunnel, if the response accepts it.
    if (method === 'CONNECT') return { kind: 'rest' };
    // Without framing fields a request has no body (RFC 9112 section 6.3).
    return framing.kind === 'unsaid' ? NO_BODY : framing;
  }

  #responseHead(framing: Framing, status: number): Framing | undefined {
    if (status < 200 && status !== 101) return NO_BODY;
    const method = this.#methods.shift();
    const since = this.#since.shift();
    // A response without a request is not valid HTTP.
    if (method === undefined || since === undefined) return undefined;
    this.#sink.onRequest(method, status, performance.now() - since);
    // Another protocol follows.
    if (status === 101 || method === 'CONNECT') return undefined;
    if (method === 'HEAD' || status === 204 || status === 304) return NO_BODY;
    return framing.kind === 'unsaid' ? { kind: 'rest' } : framing;
  }

  #stop(): void {
    this.#requests.stop();
    this.#responses.stop();
    this.#methods.length = 0;
    this.#since.length = 0;
  }
}

const NO_BODY: Framing = { kind: 'length', bytes: 0 };
