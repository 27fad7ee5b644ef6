import { Buffer } from 'node:buffer';

import type { ResponseHead, Stream, StreamHandler, StreamReset } from './contract.ts';
import { ErrorCode } from './errors.ts';
import { Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from './frames.ts';
import type { Outbox, SendSide } from './outbox.ts';
import type { ReceiveSide, ReceiveWindows } from './receive-windows.ts';
import type { ShareOwner } from '../limits/nested-fair-share.ts';
import { Pieces } from '../memory/pieces.ts';
import { EarshotError } from '../errors/earshot-error.ts';

export interface Waiting {
  /** Octets of the request's fields. */
  readonly size: number;
  begin(): void;
}

/** Parts of the session that a stream uses. */
export interface StreamOwner {
  readonly outbox: Outbox;
  readonly windows: ReceiveWindows;
  sendResponse(stream: SessionStream, head: ResponseHead, end: boolean): void;
  /** Both ends have sent END_STREAM. */
  streamEnded(stream: SessionStream): void;
  /** The stream's user abandons it. */
  streamLeft(stream: SessionStream, code: number): void;
  /** This end resets the stream and notifies the peer. */
  streamReset(stream: SessionStream, code: number): void;
  /** The peer has its complete response, and has not ended its request. */
  answered(stream: SessionStream): void;
  /** A handler threw. */
  handlerFailed(error: unknown): void;
  queuedChanged(bytes: number): void;
}

/**
 * Both halves of a stream, with their queue and windows. Methods of `Stream` are for the user; the others are for the session. Calls by the
 * user after the stream is gone are ignored, since the user may not know yet.
 *
 * Only `reportResponse`, `reportData`, `reportReset` and `#notify` call the handler, in the middle of reading and writing all streams. What the
 * handler throws ends its own stream only.
 */
export class SessionStream implements Stream, SendSide, ReceiveSide {
  /** 0 until the stream may be opened. */
  id = 0;
  handler: StreamHandler = NOBODY;
  sendWindow: number;
  listed = false;
  ending = false;
  window: number;
  target: number;
  unconsumed = 0;
  since = 0;
  consumedSince = 0;
  remoteEnded = false;
  /** Reset or ended: nothing more is reported or sent. */
  gone = false;
  /** Whether this end's HEADERS were sent; data may follow. */
  headSent = false;
  /** Whether the peer's HEADERS have arrived. */
  headReceived = false;
  /** Octets announced by `content-length` that have not arrived; -1 without one. */
  promised = -1;
  /** Owner whose fair share a stream opened by this end counts against. */
  whose: ShareOwner | undefined;
  /** Routing key of the stream; deferred work is round-robin by key. */
  key = '';
  /** Whether the user has abandoned the stream, and the peer is notified only when it responds. */
  isLeft = false;
  /** A request that has not begun and has no handler yet. */
  waiting: Waiting | undefined;
  waited: number | undefined;
  readonly #owner: StreamOwner;
  readonly #waits = new Pieces();
  /** Number of bytes sent. */
  #left = 0;
  #localEnded = false;
  #wantsDrain = false;

  constructor(owner: StreamOwner, sendWindow: number, now: number) {
    this.#owner = owner;
    this.sendWindow = sendWindow;
    this.window = owner.windows.initial;
    this.target = this.window;
    this.since = now;
  }

  get queued(): number {
    return this.#waits.bytes;
  }

  get held(): number {
    return this.#waits.held;
  }

  /**
   * Bytes queued before `write` returns false; `onDrain` follows at half of it. It starts low: a stream that sent nothing has not shown
   * that its peer reads.
   */
  get #most(): number {
    return Math.min(MOST_QUEUED, Math.max(FIRST_QUEUED, this.#left));
  }

  respond(head: ResponseHead, options?: { readonly end?: boolean }): void {
    if (this.gone) return;
    if (this.headSent) throw new EarshotError('http2-usage', `stream ${this.id} has been answered already`);
    this.headSent = true;
    const end = options?.end === true;
    this.#owner.sendResponse(this, head, end);
    if (!end) return;
    this.endedLocally();
    if (!this.gone) this.#owner.answered(this);
  }

  write(chunk: Buffer): boolean {
    if (this.gone || this.isLeft) return true;
    if (!this.headSent || this.ending)
      throw new EarshotError('http2-usage', this.ending ? `stream ${this.id} has been ended` : `stream ${this.id} has not been answered`);
    if (chunk.length > 0) {
      this.#waits.push(chunk);
      this.#owner.queuedChanged(chunk.length);
      if (this.id !== 0) this.#owner.outbox.ready(this);
    }
    if (this.queued < this.#most) return true;
    this.#wantsDrain = true;
    return false;
  }

  end(): void {
    if (this.gone || this.isLeft || this.ending) return;
    if (!this.headSent) throw new EarshotError('http2-usage', `stream ${this.id} has not been answered`);
    this.ending = true;
    if (this.queued === 0 && this.id !== 0) this.sendEnd();
  }

  reset(code: number): void {
    if (this.isLeft) return;
    if (!this.gone) this.#owner.streamLeft(this, code);
    // The stream has ended, but its user has not consumed all input and will not.
    else this.#owner.windows.released(this);
  }

  consumed(bytes: number): void {
    if (bytes > 0 && this.unconsumed > 0) this.#owner.windows.consumed(this, bytes);
  }

  /** The stream has an identifier now: what was written while it waited may leave. */
  opened(): void {
    this.#owner.outbox.ready(this);
    if (this.ending && this.queued === 0 && !this.#localEnded) this.sendEnd();
  }

  /** Sends END_STREAM in a frame of its own, which flow control does not hold back. */
  sendEnd(): void {
    const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
    writeFrameHeader(frame, 0, 0, FrameType.DATA, Flag.END_STREAM, this.id);
    this.#owner.outbox.control(frame);
    this.endedLocally();
  }

  endedLocally(): void {
    this.ending = true;
    this.#localEnded = true;
    if (this.remoteEnded) this.#owner.streamEnded(this);
  }

  /** Handles the peer's END_STREAM. */
  endedRemotely(): void {
    this.remoteEnded = true;
    this.#notify('onEnd');
    if (this.#localEnded && !this.gone) this.#owner.streamEnded(this);
  }

  takeInto(out: Buffer, at: number, length: number): void {
    this.#waits.takeInto(out, at, length);
    this.#left += length;
    this.#owner.queuedChanged(-length);
  }

  taken(endSent: boolean): void {
    if (this.gone) return;
    // Also after the end: the source of the data waits for `onDrain`.
    if (this.#wantsDrain && (endSent || this.queued <= this.#most / 2)) {
      this.#wantsDrain = false;
      this.#notify('onDrain');
    }
    if (endSent && !this.gone) this.endedLocally();
  }

  /** Releases what is held; nothing more leaves. */
  discard(): void {
    this.gone = true;
    this.#drop();
  }

  /** A reset for the user; the peer receives it only after its response. */
  resetWhenAnswered(code: number): void {
    this.isLeft = true;
    this.#drop();
    this.handler = { ...NOBODY, onResponse: () => this.#owner.streamReset(this, code) };
  }

  #drop(): void {
    this.#owner.queuedChanged(-this.queued);
    this.#waits.clear();
    this.#owner.outbox.forget(this);
  }

  /** Resets the stream and notifies both the peer and the handler. */
  giveUp(reason: StreamReset): void {
    this.reset(reason.code);
    this.reportReset(reason);
  }

  /** Ends the stream and notifies the handler. */
  cut(reason: StreamReset): void {
    this.discard();
    this.reportReset(reason);
  }

  reportResponse(head: ResponseHead): void {
    try {
      this.handler.onResponse(head);
    } catch (error) {
      this.#fail(error);
    }
  }

  reportData(chunk: Buffer): void {
    try {
      this.handler.onData(chunk);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The stream is gone already, so there is nothing to end if the handler throws. */
  reportReset(reason: StreamReset): void {
    try {
      this.handler.onReset(reason);
    } catch (error) {
      this.#owner.handlerFailed(error);
    }
  }

  #notify(event: 'onEnd' | 'onDrain'): void {
    try {
      this.handler[event]();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#owner.handlerFailed(error);
    const wasGone = this.gone;
    this.reset(ErrorCode.INTERNAL_ERROR);
    if (!wasGone) this.reportReset({ code: ErrorCode.INTERNAL_ERROR, reason: 'an unexpected error at this end' });
  }
}

/** Bytes that may be queued: at first, and at most after as many were sent. */
const [FIRST_QUEUED, MOST_QUEUED] = [16_384, 131_072];

const NOBODY: StreamHandler = {
  onResponse: () => undefined,
  onData: () => undefined,
  onEnd: () => undefined,
  onDrain: () => undefined,
  onReset: () => undefined,
};
