import { HeadReader, type Framing } from './http1-head.ts';
import { tapOf, type RequestSink, type Tap, type Taps } from './contract.ts';

/** Requests that a client may have sent ahead of their answers (RFC 9112 section 9.3.2); with more it is no HTTP that we know. */
const MOST_PIPELINED = 1_000;

/** Reads HTTP/1.0 and 1.1 (RFC 9112) off both directions of a connection. */
export class Http1Observer implements Taps {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
  readonly #sink: RequestSink;
  readonly #requests: HeadReader;
  readonly #responses: HeadReader;
  /** Requests without an answer yet, oldest first. */
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

  /** @returns how the request's body is framed, or undefined to read no more */
  #requestHead(framing: Framing, method: string): Framing | undefined {
    if (this.#methods.length >= MOST_PIPELINED) return undefined;
    this.#methods.push(method);
    this.#since.push(performance.now());
    // What follows a CONNECT is a tunnel, if the answer says so.
    if (method === 'CONNECT') return { kind: 'rest' };
    // Without framing fields a request has no body (section 6.3).
    return framing.kind === 'unsaid' ? NO_BODY : framing;
  }

  #responseHead(framing: Framing, status: number): Framing | undefined {
    if (status < 200 && status !== 101) return NO_BODY;
    const method = this.#methods.shift();
    const since = this.#since.shift();
    // An answer to nothing: not the HTTP that we know.
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
