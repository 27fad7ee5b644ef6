import { Buffer } from 'node:buffer';

import type { ResponseHead, Stream, StreamHandler, StreamReset } from './contract.ts';
import { ErrorCode } from './errors.ts';
import { Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from './frames.ts';
import type { Outbox, SendSide } from './outbox.ts';
import type { ReceiveSide, ReceiveWindows } from './receive-windows.ts';
import type { ShareOwner } from '../../limits/nested-fair-share.ts';
import { Pieces } from '../memory/pieces.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

export interface Waiting {
  /** Octets of its fields. */
  readonly size: number;
  begin(): void;
}

/** What a stream asks of its session. */
export interface StreamOwner {
  readonly outbox: Outbox;
  readonly windows: ReceiveWindows;
  sendResponse(stream: SessionStream, head: ResponseHead, end: boolean): void;
  /** Both ends have said END_STREAM. */
  streamEnded(stream: SessionStream): void;
  /** Its user gives it up. */
  streamLeft(stream: SessionStream, code: number): void;
  /** This end gives it up, and the peer is told. */
  streamReset(stream: SessionStream, code: number): void;
  /** The peer has its whole answer, and has not ended its request. */
  answered(stream: SessionStream): void;
  /** A handler threw. */
  handlerFailed(error: unknown): void;
  queuedChanged(bytes: number): void;
}

/**
 * Both halves of a stream, with their queue and windows. Methods of `Stream` are the user's; the rest is the session's. Calls of the
 * user after the stream is gone do nothing: it may not know yet.
 *
 * The handler is called by the `tell` methods only, since it is called from amid the reading and writing of all streams: what it throws ends its own.
 */
export class SessionStream implements Stream, SendSide, ReceiveSide {
  /** 0 while it waits for the peer's leave to open. */
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
  /** Reset or ended: nothing more is told or sent. */
  gone = false;
  /** Of this end's own HEADERS: data may follow. */
  headSent = false;
  /** Of the peer's HEADERS. */
  headReceived = false;
  /** Octets that `content-length` promises and that have not come; -1 where nothing was promised. */
  promised = -1;
  /** Of a stream that this end opened: whose part of all of them it is. */
  whose: ShareOwner | undefined;
  /** For whom it is opened: what is to be done for others is done in turn with it. */
  key = '';
  /** Its user has left, and the peer is told when it answers. */
  isLeft = false;
  /** A request that has not begun: nobody handles it yet. */
  waiting: Waiting | undefined;
  readonly #owner: StreamOwner;
  readonly #waits = new Pieces();
  /** Bytes of it that have left. */
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

  /** What it queues before `write` returns false; it may write again when half of that is left. Nobody knows yet whether the peer reads at all of what nothing has left. */
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
    // Its peer is done with it, but its user has not taken all that came, and will not.
    else this.#owner.windows.released(this);
  }

  consumed(bytes: number): void {
    if (bytes > 0 && this.unconsumed > 0) this.#owner.windows.consumed(this, bytes);
  }

  /** It has an id now: what was written while it waited may leave. */
  opened(): void {
    this.#owner.outbox.ready(this);
    if (this.ending && this.queued === 0 && !this.#localEnded) this.sendEnd();
  }

  /** END_STREAM in a frame of its own: no window holds it back. */
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

  /** The peer's END_STREAM. */
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
    // Also of what has ended meanwhile: whoever brought it waits for that.
    if (this.#wantsDrain && (endSent || this.queued <= this.#most / 2)) {
      this.#wantsDrain = false;
      this.#notify('onDrain');
    }
    if (endSent && !this.gone) this.endedLocally();
  }

  /** Nothing more leaves, and what was held is let go. */
  discard(): void {
    this.gone = true;
    this.#drop();
  }

  /** As after `reset`, for its user; but the peer is told only with its answer. */
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

  /** Both ends learn that this one gives it up. */
  giveUp(reason: StreamReset): void {
    this.reset(reason.code);
    this.tellReset(reason);
  }

  /** The handler learns that the stream is gone. */
  cut(reason: StreamReset): void {
    this.discard();
    this.tellReset(reason);
  }

  tellResponse(head: ResponseHead): void {
    try {
      this.handler.onResponse(head);
    } catch (error) {
      this.#fail(error);
    }
  }

  tellData(chunk: Buffer): void {
    try {
      this.handler.onData(chunk);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The stream is gone already: nothing is left to be ended by what this throws. */
  tellReset(reason: StreamReset): void {
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
    if (!wasGone) this.tellReset({ code: ErrorCode.INTERNAL_ERROR, reason: 'an unexpected error at this end' });
  }
}

/** Bytes: at first, and once as many have left. */
const [FIRST_QUEUED, MOST_QUEUED] = [16_384, 131_072];

const NOBODY: StreamHandler = {
  onResponse: () => undefined,
  onData: () => undefined,
  onEnd: () => undefined,
  onDrain: () => undefined,
  onReset: () => undefined,
};
