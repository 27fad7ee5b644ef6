import { Buffer } from 'node:buffer';

import type {
  RequestHead,
  ResponseHead,
  Session,
  SessionEvents,
  Stream,
  StreamHandler,
  StreamReset,
} from '../../../../src/http2/contract.ts';

/** Records the events of a stream. Consumes data at once, unless `holding`. */
export class Recorder implements StreamHandler {
  response: ResponseHead | undefined;
  chunks: Buffer[] = [];
  received = 0;
  ended = false;
  drains = 0;
  resets: StreamReset[] = [];
  holding = false;
  stream: Stream | undefined;

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  onResponse(head: ResponseHead): void {
    this.response = head;
  }

  onData(chunk: Buffer): void {
    this.chunks.push(Buffer.from(chunk));
    this.received += chunk.length;
    if (!this.holding) this.stream?.consumed(chunk.length);
  }

  onEnd(): void {
    this.ended = true;
  }

  onDrain(): void {
    this.drains++;
  }

  onReset(reason: StreamReset): void {
    this.resets.push(reason);
  }
}

export interface Accepted {
  readonly head: RequestHead;
  readonly stream: Stream;
  readonly recorder: Recorder;
}

/** Records the events of a session; accepts each request with a Recorder, after `accept` has seen it. */
export class SessionRecorder implements SessionEvents {
  readonly accepted: Accepted[] = [];
  readies = 0;
  goaways: StreamReset[] = [];
  closes: StreamReset[] = [];
  unexpected: { readonly part: string; readonly error: unknown }[] = [];
  readonly #accept: (accepted: Accepted) => StreamHandler | undefined;

  constructor(accept: (accepted: Accepted) => StreamHandler | undefined | void = () => undefined) {
    this.#accept = (accepted) => accept(accepted) ?? undefined;
  }

  onRequest(stream: Stream, head: RequestHead): StreamHandler {
    const recorder = new Recorder();
    recorder.stream = stream;
    const accepted = { head, stream, recorder };
    this.accepted.push(accepted);
    return this.#accept(accepted) ?? recorder;
  }

  onReady(): void {
    this.readies++;
  }

  onGoaway(reason: StreamReset): void {
    this.goaways.push(reason);
  }

  onClose(reason: StreamReset): void {
    this.closes.push(reason);
  }

  onInternalError(part: string, error: unknown): void {
    this.unexpected.push({ part, error });
  }
}

/** Sends back what comes, as fast as it leaves; ends where the peer ends. */
export class Echo implements StreamHandler {
  readonly #stream: Stream;

  constructor(stream: Stream) {
    this.#stream = stream;
    stream.respond({ status: 200, fields: {} });
  }

  onResponse(): void {}

  onData(chunk: Buffer): void {
    this.#stream.write(Buffer.from(chunk));
    this.#stream.consumed(chunk.length);
  }

  onEnd(): void {
    this.#stream.end();
  }

  onDrain(): void {}

  onReset(): void {}
}

/** Opens a CONNECT stream with a Recorder. */
export function connectStream(
  session: Session,
  authority = 'backend',
  recorder = new Recorder(),
): { readonly stream: Stream; readonly recorder: Recorder } {
  const stream = session.request({ method: 'CONNECT', authority, fields: {} }, recorder);
  recorder.stream = stream;
  return { stream, recorder };
}

/** Writes all data, waiting for drains, and half-closes. The recorder must be the stream's. */
export async function pour(
  stream: Stream,
  recorder: Recorder,
  bytes: Buffer,
  piece: number,
  wait: (what: string, look: () => boolean) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece) {
    const before = recorder.drains;
    if (!stream.write(bytes.subarray(at, at + piece))) await wait('drain', () => recorder.drains > before || recorder.resets.length > 0);
  }
  stream.end();
}
