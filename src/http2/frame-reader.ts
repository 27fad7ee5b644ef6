import { Buffer } from 'node:buffer';

import { ConnectionError, ErrorCode } from './errors.ts';
import { Flag, FRAME_HEADER_BYTES, FrameType } from './frames.ts';

/** Receives what the reader finds. DATA passes through in pieces as it arrives; every other frame arrives whole. */
export interface FrameSink {
  /** A DATA frame begins. `length` counts against the windows and includes padding. */
  onDataStart(streamId: number, length: number): void;
  /** Part of the frame's data, never empty. */
  onData(chunk: Buffer): void;
  /** The DATA frame ends. `padding` octets count against the windows as well. */
  onDataEnd(padding: number, endStream: boolean): void;
  /** The payload is valid during the call only. */
  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

/**
 * Splits octets into frames (RFC 9113 section 4.1). Holds at most one frame other than DATA, of bounded size. The sink judges what frames
 * mean. Works synchronously: exceptions of the sink propagate from `push`.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #mostFrame: number;
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES);
  #state: State = 'header';
  /** Octets of the frame header that have arrived. */
  #have = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Octets of the frame's payload that have not arrived. */
  #left = 0;
  #padding = 0;
  #partial: Buffer = EMPTY;
  #stopped = false;
  #paused = false;

  constructor(sink: FrameSink, mostFrame: number) {
    this.#sink = sink;
    this.#mostFrame = mostFrame;
  }

  /** Stops reading; the rest of the current octets is dropped. */
  stop(): void {
    this.#stopped = true;
  }

  /** Stops at the next frame; `push` returns the rest of the current octets. */
  pause(): void {
    this.#paused = true;
  }

  /**
   * @returns the unread octets if the sink has paused
   * @throws ConnectionError if a frame is too large or wrongly padded, and what the sink throws
   */
  push(chunk: Buffer): Buffer {
    this.#paused = false;
    let at = 0;
    while (at < chunk.length && !this.#stopped && !(this.#paused && this.#isAtFrame)) {
      if (this.#state === 'header') at = this.#readHeader(chunk, at);
      else if (this.#state === 'data') at = this.#readData(chunk, at);
      else if (this.#state === 'payload') at = this.#readPayload(chunk, at);
      else if (this.#state === 'pad-length') this.#readPadLength(chunk[at++] ?? 0);
      else at = this.#skip(chunk, at);
    }
    return this.#stopped ? EMPTY : chunk.subarray(at);
  }

  get #isAtFrame(): boolean {
    return this.#state === 'header' && this.#have === 0;
  }

  #readHeader(chunk: Buffer, at: number): number {
    if (this.#have === 0 && chunk.length - at >= FRAME_HEADER_BYTES) {
      this.#begin(chunk, at);
      return at + FRAME_HEADER_BYTES;
    }
    const copied = chunk.copy(this.#header, this.#have, at, at + FRAME_HEADER_BYTES - this.#have);
    this.#have += copied;
    if (this.#have === FRAME_HEADER_BYTES) {
      this.#have = 0;
      this.#begin(this.#header, 0);
    }
    return at + copied;
  }

  #begin(from: Buffer, at: number): void {
    const length = from.readUIntBE(at, 3);
    this.#type = from[at + 3] ?? 0;
    this.#flags = from[at + 4] ?? 0;
    this.#streamId = from.readUInt32BE(at + 5) & 0x7fff_ffff;
    this.#left = length;
    if (length > this.#mostFrame)
      throw new ConnectionError(
        ErrorCode.FRAME_SIZE_ERROR,
        `a frame of type ${this.#type} has ${length} octets, over our limit of ${this.#mostFrame}`,
      );
    if (this.#type === FrameType.DATA) this.#beginData(length);
    else if (this.#type > FrameType.CONTINUATION) this.#beginUnknown(length);
    else if (length === 0) this.#sink.onFrame(this.#type, this.#flags, this.#streamId, EMPTY);
    else this.#state = 'payload';
  }

  #beginData(length: number): void {
    this.#padding = 0;
    const padded = (this.#flags & Flag.PADDED) !== 0;
    if (padded && length === 0) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'a padded DATA frame has no padding length');
    this.#sink.onDataStart(this.#streamId, length);
    if (padded) this.#state = 'pad-length';
    else if (length === 0) this.#sink.onDataEnd(0, (this.#flags & Flag.END_STREAM) !== 0);
    else this.#state = 'data';
  }

  /** Section 5.5: unknown types are ignored. The sink is notified, because even they are an error within a header block. */
  #beginUnknown(length: number): void {
    this.#sink.onFrame(this.#type, this.#flags, this.#streamId, EMPTY);
    if (length > 0) this.#state = 'skip';
  }

  #readPadLength(padding: number): void {
    this.#left -= 1;
    if (padding > this.#left) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a DATA frame has more padding than payload');
    this.#padding = padding;
    this.#left -= padding;
    this.#state = 'data';
    if (this.#left === 0) this.#dataDone();
  }

  #readData(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    const whole = at === 0 && end === chunk.length;
    this.#sink.onData(whole ? chunk : chunk.subarray(at, end));
    if (this.#left === 0) this.#dataDone();
    return end;
  }

  /** The data is complete before the padding is skipped, so the stream continues at once. */
  #dataDone(): void {
    const padded = (this.#flags & Flag.PADDED) !== 0;
    this.#left = this.#padding;
    this.#state = this.#left > 0 ? 'skip' : 'header';
    this.#sink.onDataEnd(padded ? this.#padding + 1 : 0, (this.#flags & Flag.END_STREAM) !== 0);
  }

  #readPayload(chunk: Buffer, at: number): number {
    if (this.#partial.length === 0 && chunk.length - at >= this.#left) {
      const end = at + this.#left;
      this.#state = 'header';
      this.#sink.onFrame(this.#type, this.#flags, this.#streamId, chunk.subarray(at, end));
      return end;
    }
    if (this.#partial.length === 0) this.#partial = Buffer.allocUnsafe(this.#left);
    const copied = chunk.copy(this.#partial, this.#partial.length - this.#left, at);
    this.#left -= copied;
    if (this.#left === 0) {
      const payload = this.#partial;
      this.#partial = EMPTY;
      this.#state = 'header';
      this.#sink.onFrame(this.#type, this.#flags, this.#streamId, payload);
    }
    return at + copied;
  }

  #skip(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = 'header';
    return end;
  }
}

type State = 'header' | 'pad-length' | 'data' | 'payload' | 'skip';

const EMPTY = Buffer.alloc(0);
