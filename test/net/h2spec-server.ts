import { Buffer } from 'node:buffer';

import type { RequestHead, SessionEvents, Stream, StreamHandler } from '../../src/http2/contract.ts';
import type { SessionLimits } from '../../src/http2/limits.ts';

/** h2spec asks with GET, HEAD, POST and OPTIONS for `/` of an ordinary web server, and wants a body of some length. */
export const H2SPEC_LIMITS: Partial<SessionLimits> = {
  methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
  concurrentStreams: 100,
  frameBytes: 16_384,
};

export const WEB_SERVER: SessionEvents = {
  onRequest: (stream: Stream, head: RequestHead): StreamHandler => new Page(stream, head),
  onReady: () => undefined,
  onGoaway: () => undefined,
  onClose: () => undefined,
  onInternalError: (_, error) => {
    throw error;
  },
};

const BODY = Buffer.from('The quick brown fox jumps over the lazy dog.\n');

/** Answers once the request is whole. */
class Page implements StreamHandler {
  readonly #stream: Stream;
  readonly #head: RequestHead;

  constructor(stream: Stream, head: RequestHead) {
    this.#stream = stream;
    this.#head = head;
  }

  onResponse(): void {}

  onData(chunk: Buffer): void {
    this.#stream.consumed(chunk.length);
  }

  onEnd(): void {
    const empty = this.#head.method === 'HEAD';
    this.#stream.respond({ status: 200, fields: { 'content-type': 'text/plain' } }, { end: empty });
    if (empty) return;
    this.#stream.write(BODY);
    this.#stream.end();
  }

  onDrain(): void {}

  onReset(): void {}
}
