import { limitTable } from '../../limits/table.ts';
import { HeadReader, type Framing, type HeadSink } from './http1-head.ts';
import { ReaderTap, type RequestSink, type Tap, type Taps } from './contract.ts';

/** Maximum number of requests that a client may pipeline (RFC 9112 section 9.3.2). With more, the connection is no longer observed. */
const MOST_PIPELINED = limitTable.pipelinedRequests.value;

/** A request without a response. */
interface Waiting {
  readonly method: string;
  readonly path: string;
  /** Time of its head, as in `performance.now()`. */
  readonly since: number;
  next: Waiting | undefined;
}

/** Parses HTTP/1.0 and 1.1 (RFC 9112) in both directions of a connection. */
export class Http1Observer implements Taps, HeadSink {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
  readonly #sink: RequestSink;
  readonly #requests: HeadReader;
  readonly #responses = new HeadReader('response', this);
  /** A linked list, since an array would allocate room for 16 for each connection. */
  #oldest: Waiting | undefined;
  #newest: Waiting | undefined;
  #waiting = 0;

  constructor(sink: RequestSink) {
    this.#sink = sink;
    this.#requests = new HeadReader('request', this, sink.wantsPath);
    this.fromClient = new ReaderTap(this.#requests, this, true);
    this.fromServer = new ReaderTap(this.#responses, this, false);
  }

  get waiting(): number {
    return this.#waiting;
  }

  get hasPaths(): boolean {
    return this.#sink.wantsPath === true;
  }

  onRequestHead(framing: Framing, method: string, path: string): Framing | undefined {
    if (this.#waiting >= MOST_PIPELINED) return undefined;
    const request: Waiting = { method, path, since: performance.now(), next: undefined };
    if (this.#newest === undefined) this.#oldest = request;
    else this.#newest.next = request;
    this.#newest = request;
    this.#waiting += 1;
    // After a CONNECT follows a tunnel, if the response accepts it.
    if (method === 'CONNECT') return { kind: 'rest' };
    // Without framing fields a request has no body (RFC 9112 section 6.3).
    return framing.kind === 'unsaid' ? NO_BODY : framing;
  }

  onResponseHead(framing: Framing, status: number): Framing | undefined {
    if (status < 200 && status !== 101) return NO_BODY;
    const request = this.#oldest;
    // A response without a request is not valid HTTP.
    if (request === undefined) return undefined;
    this.#oldest = request.next;
    if (request.next === undefined) this.#newest = undefined;
    this.#waiting -= 1;
    const { method, path } = request;
    this.#sink.onRequest(method, status, performance.now() - request.since, path);
    // Another protocol follows.
    if (status === 101 || method === 'CONNECT') return undefined;
    if (method === 'HEAD' || status === 204 || status === 304) return NO_BODY;
    return framing.kind === 'unsaid' ? { kind: 'rest' } : framing;
  }

  stop(): void {
    this.#requests.stop();
    this.#responses.stop();
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#waiting = 0;
  }
}

const NO_BODY: Framing = { kind: 'length', bytes: 0 };
