/**
 * One HTTP/2 connection (RFC 9113) of a link, as the link and the tunnels use it. The session owns its socket. Streams are callbacks and
 * byte counts rather than Node.js streams: an idle tunnel must cost little, and a busy one no more than its copies.
 */
import type { Buffer } from 'node:buffer';
import type { ShareOwner } from '../limits/nested-fair-share.ts';

/** Regular fields with lower-case names, without pseudo-header fields. */
export type Fields = Readonly<Record<string, string>>;

export interface RequestHead {
  /** `CONNECT`, or `POST` for the link's own requests. */
  readonly method: string;
  readonly authority: string;
  /** Absent for CONNECT (RFC 9113 section 8.5). */
  readonly path?: string;
  readonly fields: Fields;
}

export interface ResponseHead {
  readonly status: number;
  readonly fields: Fields;
}

/** Events of a stream for its user. If a handler throws, the stream is reset (INTERNAL_ERROR) and `onReset` follows. */
export interface StreamHandler {
  /** Called only for streams that this end opened. A response with `end` has no body. */
  onResponse(head: ResponseHead): void;
  /** The bytes are valid during the call only. The handler calls `consumed` to open the window again once it has passed them on. */
  onData(chunk: Buffer): void;
  /** The peer has half-closed (END_STREAM). */
  onEnd(): void;
  /** `write` may be called again. */
  onDrain(): void;
  /** The stream has ended abnormally: the peer reset it, or its session ended. Called at most once; no other event follows. */
  onReset(reason: StreamReset): void;
}

export interface StreamReset {
  /** Error code (RFC 9113 section 7). */
  readonly code: number;
  /** Reason as text, for a log line. */
  readonly reason: string;
}

export interface Stream {
  readonly id: number;
  /** Bytes written that the socket has not taken yet. Earlier bytes are not referenced any more, so their memory may be reused. */
  readonly queued: number;
  /** Memory for those bytes. */
  readonly held: number;
  /** Milliseconds for which a received request waited until it began. Undefined if it began at once. */
  readonly waited?: number | undefined;
  /** Responds to a request. */
  respond(head: ResponseHead, options?: { readonly end?: boolean }): void;
  /** Queues the bytes, which must not change while `queued` includes them. @returns false if the caller should wait for `onDrain` */
  write(chunk: Buffer): boolean;
  /** Half-closes the stream after all written bytes. */
  end(): void;
  /** Resets the stream and drops what is queued. */
  reset(code: number): void;
  /** Opens the window again after this many bytes of `onData` were processed. */
  consumed(bytes: number): void;
}

export interface RequestOptions {
  readonly end?: boolean;
  readonly whose?: ShareOwner;
}

export interface Session {
  /** Whether one more stream for this owner leaves room for others within the peer's stream limit. */
  hasRoom(whose: ShareOwner): boolean;
  /**
   * Opens a stream. Throws if the session is closing (see `state`); streams over the peer's limit wait.
   * @param options.whose owner whose fair share the stream counts against; no fair share without it
   */
  request(head: RequestHead, handler: StreamHandler, options?: RequestOptions): Stream;
  /** @returns the round-trip time in milliseconds; rejects if no answer arrives within `deadline` milliseconds */
  ping(deadline: number): Promise<number>;
  /** Sends GOAWAY: no new streams are accepted, and open ones may finish. */
  drain(): void;
  /** Closes the session with all its streams at once. */
  destroy(error?: Error): void;
  readonly state: 'open' | 'draining' | 'closed';
  readonly openStreams: number;
  /** Bytes waiting to be sent, over all streams. */
  readonly queued: number;
  /** Memory in bytes that the session holds for the peer, without what the streams have queued. */
  readonly held: number;
}

export interface SessionEvents {
  /** Called when the peer opens a stream. @returns the stream's handler, which may call `stream.respond` now or later */
  onRequest(stream: Stream, head: RequestHead): StreamHandler;
  /** The peer's first SETTINGS have arrived. */
  onReady(): void;
  /** The peer accepts no more streams. */
  onGoaway(reason: StreamReset): void;
  /** Called once, however the session ended, after all streams were notified. */
  onClose(reason: StreamReset): void;
  /** Reports an unexpected exception of a handler or of the session itself; `part` says what it ends. Must not throw. */
  onInternalError(part: 'stream' | 'session', error: unknown): void;
}
