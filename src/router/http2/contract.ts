/**
 * One HTTP/2 connection (RFC 9113) of a link, as the link and the tunnels see it. The session owns its socket. Streams are
 * callbacks and counted bytes, not Node.js streams: an idle tunnel must cost little, a busy one no more than its copies.
 */
import type { Buffer } from 'node:buffer';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';

/** Regular fields, lower-case names; pseudo-header fields are apart. */
export type Fields = Readonly<Record<string, string>>;

export interface RequestHead {
  /** `CONNECT`, or `POST` for the link's own requests. */
  readonly method: string;
  readonly authority: string;
  /** Not for CONNECT (RFC 9113 section 8.5). */
  readonly path?: string;
  readonly fields: Fields;
}

export interface ResponseHead {
  readonly status: number;
  readonly fields: Fields;
}

/** What a stream tells its user. What one of these throws resets the stream (INTERNAL_ERROR), and `onReset` follows. */
export interface StreamHandler {
  /** Only for streams that this end opened; a response with `end` has no body. */
  onResponse(head: ResponseHead): void;
  /** The bytes are valid during the call only. The handler gives the window back with `consumed`, when it has passed them on. */
  onData(chunk: Buffer): void;
  /** The peer has half-closed (END_STREAM). */
  onEnd(): void;
  /** `write` may be called again. */
  onDrain(): void;
  /** The stream is gone without an orderly end: reset by the peer, or its session ended. Called at most once; nothing follows. */
  onReset(reason: StreamReset): void;
}

export interface StreamReset {
  /** RFC 9113 section 7. */
  readonly code: number;
  /** As text, for a log line. */
  readonly reason: string;
}

export interface Stream {
  readonly id: number;
  /** Bytes that were written and are not yet with the socket. Whatever was written before those is not referred to any more: its memory may be used again. */
  readonly queued: number;
  /** Memory for those, in bytes. */
  readonly held: number;
  /** Answers a request. */
  respond(head: ResponseHead, options?: { readonly end?: boolean }): void;
  /** Takes the bytes; they must not change while they are among those `queued`. @returns false where the caller should wait for `onDrain` */
  write(chunk: Buffer): boolean;
  /** Half-close, after all that was written. */
  end(): void;
  /** Drops what is queued. */
  reset(code: number): void;
  /** So many bytes that `onData` brought are dealt with: opens the window again. */
  consumed(bytes: number): void;
}

export interface RequestOptions {
  readonly end?: boolean;
  readonly whose?: ShareOwner;
}

export interface Session {
  /** Whether one more stream for them leaves room for others, of those that the peer takes. */
  hasRoom(whose: ShareOwner): boolean;
  /**
   * Opens a stream. Throws where the session is closing (see `state`); streams over the peer's limit wait.
   * @param options.whose part of the streams it is; left out, it is counted with nobody's
   */
  request(head: RequestHead, handler: StreamHandler, options?: RequestOptions): Stream;
  /** Milliseconds. Rejects where no answer comes in time. */
  ping(deadline: number): Promise<number>;
  /** GOAWAY: no new streams; those that are open may finish. */
  drain(): void;
  /** Ends it now, with all its streams. */
  destroy(error?: Error): void;
  readonly state: 'open' | 'draining' | 'closed';
  readonly openStreams: number;
  /** Bytes waiting to be sent, of all streams. */
  readonly queued: number;
  /** Memory for the peer besides what streams have queued, in bytes. */
  readonly held: number;
}

export interface SessionEvents {
  /** The peer opened a stream. @returns who handles it; answer with `stream.respond` now or later */
  onRequest(stream: Stream, head: RequestHead): StreamHandler;
  /** The peer's first SETTINGS are here. */
  onReady(): void;
  /** The peer takes no more streams. */
  onGoaway(reason: StreamReset): void;
  /** Once, whatever ended it. All streams have been told. */
  onClose(reason: StreamReset): void;
  /** Somebody threw what nobody expected, a handler or the session itself: `part` is what that ends. This one must not throw. */
  onInternalError(part: 'stream' | 'session', error: unknown): void;
}
