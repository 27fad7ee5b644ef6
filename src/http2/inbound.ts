import type { Buffer } from 'node:buffer';

import type { RequestHead, StreamReset } from './contract.ts';
import type { SessionCore } from './core.ts';
import { ConnectionError, ErrorCode, MOST_WORDS, nameOfErrorCode } from './errors.ts';
import type { FrameSink } from './frame-reader.ts';
import { DEFAULT_MAX_FRAME, Flag, FrameType, MAX_WINDOW, pingFrame, resetFrame, Setting, settingsAckFrame } from './frames.ts';
import { HeaderBlockCollector } from './header-block.ts';
import type { HeaderBlock } from './header-block.ts';
import { faultOfTrailers, parseRequest, parseResponse } from './heads.ts';
import type { FieldLine } from './heads.ts';
import { HpackDecoder } from './hpack/decoder.ts';
import { ClosedStreams } from './closed-streams.ts';
import type { ClosedStream } from './closed-streams.ts';
import { SessionStream } from './stream.ts';
import { printableAscii } from '../text/printable.ts';

/** Handles the peer's frames (RFC 9113 sections 5 and 6). A connection error is thrown; a stream error resets the stream. */
export class Inbound implements FrameSink {
  /** Highest stream that the peer opened. */
  lastPeerStream = 0;
  readonly #core: SessionCore;
  readonly #blocks: HeaderBlockCollector;
  readonly #decoder = new HpackDecoder(HEADER_TABLE_BYTES);
  readonly #past = new ClosedStreams();
  /** Whether the first frame, which must be SETTINGS, has arrived. */
  #greeted = false;
  #ready = false;
  /** Stream of the DATA frame that is being read; undefined if the frame is dropped. */
  #data: SessionStream | undefined;
  /** Whether the DATA frame that is being read is empty. */
  #isEmpty = false;
  #goawayLimit = Infinity;
  /** Work done and not counted yet. Most frames are only fractions of one unit. */
  #work = 0;

  constructor(core: SessionCore) {
    this.#core = core;
    this.#blocks = new HeaderBlockCollector(core.limits.headerListBytes * 2);
  }

  remember(streamId: number, how: ClosedStream): void {
    this.#past.add(streamId, how);
  }

  onDataStart(streamId: number, length: number): void {
    this.#expect(FrameType.DATA, streamId);
    this.#expectReader();
    const core = this.#core;
    core.windows.arrivedOnConnection(length);
    const stream = this.#streamFor(streamId, 'DATA');
    this.#data = undefined;
    if (stream === undefined) {
      core.windows.creditConnection();
      return;
    }
    const fault = this.#faultOfData(stream, length);
    if (fault === undefined) {
      this.#data = stream;
      this.#isEmpty = length === 0;
      return;
    }
    this.#resetStream(stream, fault.code, fault.reason);
    core.windows.creditConnection();
  }

  onData(chunk: Buffer): void {
    const stream = this.#data;
    if (stream === undefined || stream.gone) return;
    if (stream.promised >= 0) {
      if (chunk.length > stream.promised) {
        this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, 'more data than content-length promised');
        return;
      }
      stream.promised -= chunk.length;
    }
    stream.reportData(chunk);
  }

  onDataEnd(padding: number, endStream: boolean): void {
    const stream = this.#data;
    if (stream === undefined || stream.gone) return;
    // An empty frame with END_STREAM has a purpose, and a stream has at most one, so many short streams do not use up the limit.
    if (this.#isEmpty && !endStream) this.#spend('DATA frames without data');
    if (padding > 0) stream.consumed(padding);
    if (endStream) this.#end(stream);
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#expect(type, streamId);
    switch (type) {
      case FrameType.HEADERS:
        return this.#block(this.#blocks.headers(flags, streamId, payload));
      case FrameType.CONTINUATION:
        return this.#block(this.#blocks.continuation(flags, streamId, payload));
      case FrameType.PRIORITY:
        return this.#priority(streamId, payload);
      case FrameType.RST_STREAM:
        return this.#reset(streamId, payload);
      case FrameType.SETTINGS:
        return this.#settings(flags, streamId, payload);
      case FrameType.PING:
        return this.#ping(flags, streamId, payload);
      case FrameType.GOAWAY:
        return this.#goaway(streamId, payload);
      case FrameType.WINDOW_UPDATE:
        return this.#windowUpdate(streamId, payload);
      case FrameType.PUSH_PROMISE:
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'PUSH_PROMISE, which is disabled');
      default:
        // Section 5.5: unknown types are ignored.
        return undefined;
    }
  }

  #expect(type: number, streamId: number): void {
    if (!this.#greeted) {
      if (type !== FrameType.SETTINGS) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'the first frame is not SETTINGS');
      this.#greeted = true;
    }
    this.#blocks.expect(type, streamId);
    this.#worked(FRAME);
  }

  /** A peer that sends without reading would make this end hold all replies and window updates that it provokes. */
  #expectReader(): void {
    const { outbox, limits } = this.#core;
    if (outbox.controlBytes > limits.controlQueued)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'the peer continues to send, and does not read');
  }

  #worked(pieces: number): void {
    this.#work += pieces;
    if (this.#work < 1) return;
    this.#core.worked(this.#work);
    this.#work = 0;
  }

  /** @returns undefined if frames of that stream are dropped */
  #streamFor(streamId: number, frame: string): SessionStream | undefined {
    const stream = this.#begun(streamId);
    if (stream !== undefined) return stream;
    if (streamId === 0 || this.#isIdle(streamId))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `${frame} on stream ${streamId}, which is not open`);
    // Frames of a stream that we reset or refused may still be under way (section 5.4.2).
    if (this.#past.of(streamId) !== 'reset-here' && streamId <= this.#goawayLimit)
      this.#core.answer(resetFrame(streamId, ErrorCode.STREAM_CLOSED));
    return undefined;
  }

  /**
   * A peer that sends more before the response makes its request begin at once, ahead of other deferred work. What follows waits for that.
   */
  #begun(streamId: number): SessionStream | undefined {
    const { streams } = this.#core;
    const waiting = streams.get(streamId)?.waiting;
    if (waiting === undefined) return streams.get(streamId);
    waiting.begin();
    this.#worked(1);
    return streams.get(streamId);
  }

  #isIdle(streamId: number): boolean {
    const peers = (streamId % 2 === 1) === (this.#core.role === 'server');
    return peers ? streamId > this.lastPeerStream : streamId >= this.#core.nextLocalStream;
  }

  #faultOfData(stream: SessionStream, length: number): StreamReset | undefined {
    if (stream.remoteEnded) return { code: ErrorCode.STREAM_CLOSED, reason: 'DATA after END_STREAM' };
    if (!stream.headReceived) return { code: ErrorCode.PROTOCOL_ERROR, reason: 'DATA before HEADERS' };
    if (!this.#core.windows.arrived(stream, length))
      return { code: ErrorCode.FLOW_CONTROL_ERROR, reason: "DATA beyond the stream's window" };
    return undefined;
  }

  #end(stream: SessionStream): void {
    if (stream.promised > 0) return this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, 'less data than content-length promised');
    this.#worked(STREAM_END);
    return stream.endedRemotely();
  }

  #block(whole: HeaderBlock | undefined): void {
    if (whole === undefined) return;
    this.#worked(whole.block.length / BLOCK_BYTES);
    const lines: FieldLine[] = [];
    let size = 0;
    const most = this.#core.limits.headerListBytes;
    this.#decoder.decode(whole.block, (name, value) => {
      size += name.length + value.length + 32;
      if (size <= most) lines.push([name, value]);
    });
    const tooLarge = size > most;
    const stream = this.#begun(whole.streamId);
    if (stream === undefined) this.#newStream(whole, lines, tooLarge ? Infinity : size);
    else if (stream.remoteEnded) this.#resetStream(stream, ErrorCode.STREAM_CLOSED, 'HEADERS after END_STREAM');
    else if (whole.dependsOnItself) this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, 'a stream that depends on itself');
    else if (tooLarge) this.#resetStream(stream, ErrorCode.ENHANCE_YOUR_CALM, 'a header list over our limit');
    else if (stream.headReceived) this.#trailers(stream, whole, lines);
    else this.#response(stream, whole, lines);
  }

  /** @param size of the fields in octets; Infinity if over our limit */
  #newStream(whole: HeaderBlock, lines: readonly FieldLine[], size: number): void {
    const core = this.#core;
    const { streamId } = whole;
    if (core.role === 'client' || streamId % 2 === 0 || streamId <= this.lastPeerStream) {
      this.#headersOutOfOrder(streamId);
      return;
    }
    this.lastPeerStream = streamId;
    if (!core.takesStreams) {
      this.#goawayLimit = Math.min(this.#goawayLimit, streamId - 1);
      this.#past.add(streamId, 'reset-here');
      return;
    }
    this.#expectReader();
    if (core.streams.size >= core.limits.concurrentStreams) return this.#refuse(streamId, ErrorCode.REFUSED_STREAM);
    if (whole.dependsOnItself) return this.#refuse(streamId, ErrorCode.PROTOCOL_ERROR);
    const parsed = size === Infinity ? TOO_LARGE : parseRequest(lines);
    if (!parsed.ok) return this.#refuse(streamId, ErrorCode.PROTOCOL_ERROR);
    const stream = new SessionStream(core, core.peerInitialWindow, core.now());
    stream.id = streamId;
    stream.headReceived = true;
    const promised = parsed.head === undefined ? -1 : promisedLength(parsed.head.method, parsed.head.fields['content-length']);
    if (promised === undefined) return this.#refuse(streamId, ErrorCode.PROTOCOL_ERROR);
    stream.promised = promised;
    if (whole.endStream && promised > 0) return this.#refuse(streamId, ErrorCode.PROTOCOL_ERROR);
    core.streams.set(streamId, stream);
    if (parsed.head === undefined) return this.#reject(stream, whole, 431);
    if (!core.limits.methods.includes(parsed.head.method)) return this.#reject(stream, whole, 405);
    return this.#take(stream, whole, parsed.head, size);
  }

  /** A CONNECT client waits for the response, so its request can be deferred. The body of a POST follows at once and needs a handler. */
  #take(stream: SessionStream, whole: HeaderBlock, head: RequestHead, size: number): void {
    if (head.method !== 'CONNECT') {
      this.#begin(stream, whole, head);
      this.#worked(1);
      return;
    }
    stream.key = head.authority;
    this.#worked(REQUEST_READ);
    if (!this.#core.beginInTurn(stream, size, () => this.#begin(stream, whole, head))) this.#reject(stream, whole, 503);
  }

  #begin(stream: SessionStream, whole: HeaderBlock, head: RequestHead): void {
    try {
      const handler = this.#core.events.onRequest(stream, head);
      if (!stream.gone) stream.handler = handler;
    } catch (error) {
      this.#core.handlerFailed(error);
      stream.reset(ErrorCode.INTERNAL_ERROR);
    }
    if (whole.endStream && !stream.gone) stream.endedRemotely();
  }

  /** Sends a complete response without a handler. What the client still sends is not needed (section 8.1). */
  #reject(stream: SessionStream, whole: HeaderBlock, status: number): void {
    if (whole.endStream) stream.endedRemotely();
    stream.respond({ status, fields: {} }, { end: true });
    if (!stream.gone) stream.reset(ErrorCode.NO_ERROR);
  }

  #refuse(streamId: number, code: number): void {
    this.#past.add(streamId, 'reset-here');
    this.#core.answer(resetFrame(streamId, code));
  }

  #headersOutOfOrder(streamId: number): void {
    const past = this.#past.of(streamId);
    if (past === 'reset-here') return;
    if (past === 'reset-there') return this.#core.answer(resetFrame(streamId, ErrorCode.STREAM_CLOSED));
    if (past === 'ended') throw new ConnectionError(ErrorCode.STREAM_CLOSED, `HEADERS on stream ${streamId}, which has ended`);
    // All that is known of older closed streams is that this end opened them. A response may cross our reset, however many streams closed
    // since.
    if (this.#core.role === 'client' && !this.#isIdle(streamId)) return;
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `HEADERS open stream ${streamId} out of turn`);
  }

  #response(stream: SessionStream, whole: HeaderBlock, lines: readonly FieldLine[]): void {
    const parsed = parseResponse(lines);
    if (!parsed.ok) return this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, parsed.reason);
    // Section 8.1: any number of interim responses may come, and an interim response must not end the stream.
    if (parsed.head.status < 200) {
      this.#spend('interim responses');
      return whole.endStream ? this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, 'an interim response ends the stream') : undefined;
    }
    stream.headReceived = true;
    stream.reportResponse(parsed.head);
    if (whole.endStream && !stream.gone) stream.endedRemotely();
    return undefined;
  }

  #trailers(stream: SessionStream, whole: HeaderBlock, lines: readonly FieldLine[]): void {
    if (!whole.endStream) return this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, 'trailers that do not end the stream');
    const fault = faultOfTrailers(lines);
    return fault === undefined ? this.#end(stream) : this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, fault);
  }

  #priority(streamId: number, payload: Buffer): void {
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'PRIORITY on stream 0');
    const stream = this.#core.streams.get(streamId);
    const selfish = payload.length === 5 && (payload.readUInt32BE(0) & 0x7fff_ffff) === streamId;
    if (payload.length === 5 && !selfish) return;
    this.#spend('malformed PRIORITY');
    const code = selfish ? ErrorCode.PROTOCOL_ERROR : ErrorCode.FRAME_SIZE_ERROR;
    // RST_STREAM must not be sent for an idle stream (section 6.4), so the error is one of the connection.
    if (stream === undefined && this.#isIdle(streamId)) throw new ConnectionError(code, 'a malformed PRIORITY');
    if (stream === undefined) this.#core.answer(resetFrame(streamId, code));
    else this.#resetStream(stream, code, 'a malformed PRIORITY');
  }

  #reset(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `RST_STREAM has ${payload.length} octets`);
    const stream = this.#core.streams.get(streamId);
    if (stream === undefined) {
      if (streamId === 0 || this.#isIdle(streamId))
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `RST_STREAM on stream ${streamId}, which is not open`);
      return;
    }
    this.#spendReset(stream);
    const code = payload.readUInt32BE(0);
    this.#core.peerReset(stream, { code, reason: `reset by the peer: ${nameOfErrorCode(code)}` });
  }

  #settings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `SETTINGS on stream ${streamId}`);
    const core = this.#core;
    if (flags & Flag.ACK) {
      if (payload.length > 0) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'an acknowledgement of SETTINGS has a payload');
      core.settingsAcknowledged();
      return;
    }
    if (payload.length % 6 !== 0) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `SETTINGS has ${payload.length} octets`);
    this.#spend('SETTINGS');
    let initialWindow = core.peerInitialWindow;
    for (let at = 0; at < payload.length; at += 6) {
      const [id, value] = [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
      if (id === Setting.INITIAL_WINDOW_SIZE) initialWindow = value;
      this.#setting(id, value);
    }
    // Applied once for each frame: it visits every stream, and other frames only see the last value.
    this.#peerInitialWindow(initialWindow);
    core.answer(settingsAckFrame());
    if (!this.#ready) {
      this.#ready = true;
      core.ready();
    }
    core.openWaiting();
  }

  #setting(id: number, value: number): void {
    const core = this.#core;
    if (id === Setting.ENABLE_PUSH && (value > 1 || (value === 1 && core.role === 'client')))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `SETTINGS_ENABLE_PUSH is ${value}`);
    else if (id === Setting.INITIAL_WINDOW_SIZE && value > MAX_WINDOW)
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, `SETTINGS_INITIAL_WINDOW_SIZE is ${value}`);
    else if (id === Setting.MAX_CONCURRENT_STREAMS) core.peerConcurrentStreams = value;
    else if (id === Setting.MAX_FRAME_SIZE) {
      if (value < DEFAULT_MAX_FRAME || value > 0xff_ffff)
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `SETTINGS_MAX_FRAME_SIZE is ${value}`);
      core.outbox.maxFrame = value;
    }
  }

  #peerInitialWindow(value: number): void {
    const core = this.#core;
    const change = value - core.peerInitialWindow;
    if (change === 0) return;
    this.#spendForStreams('changes of SETTINGS_INITIAL_WINDOW_SIZE');
    core.peerInitialWindow = value;
    for (const stream of core.streams.values()) {
      stream.sendWindow += change;
      if (stream.sendWindow > MAX_WINDOW)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, `SETTINGS_INITIAL_WINDOW_SIZE overflows the window of stream ${stream.id}`);
      core.outbox.ready(stream);
    }
  }

  #ping(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `PING on stream ${streamId}`);
    if (payload.length !== 8) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `PING has ${payload.length} octets`);
    if (flags & Flag.ACK) return this.#core.pings.answered(payload);
    this.#spend('PING');
    return this.#core.answer(pingFrame(payload, true));
  }

  #goaway(streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `GOAWAY on stream ${streamId}`);
    if (payload.length < 8) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `GOAWAY has ${payload.length} octets`);
    this.#spend('GOAWAY');
    this.#spendForStreams('GOAWAY');
    const code = payload.readUInt32BE(4);
    const text = printableAscii(payload.toString('latin1', 8, 8 + 240), MOST_WORDS);
    this.#core.goaway(payload.readUInt32BE(0) & MAX_WINDOW, {
      code,
      reason: `GOAWAY from the peer: ${nameOfErrorCode(code)}${text === '' ? '' : ` (${text})`}`,
    });
  }

  #windowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `WINDOW_UPDATE has ${payload.length} octets`);
    const increment = payload.readUInt32BE(0) & MAX_WINDOW;
    const core = this.#core;
    if (streamId === 0) {
      core.outbox.sendWindow += increment;
      if (increment === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'WINDOW_UPDATE by nothing');
      if (core.outbox.sendWindow > MAX_WINDOW)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'WINDOW_UPDATE overflows the window of the connection');
      core.outbox.resume();
      return;
    }
    const stream = core.streams.get(streamId);
    if (stream === undefined) {
      if (this.#isIdle(streamId))
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `WINDOW_UPDATE on stream ${streamId}, which is not open`);
      return;
    }
    if (increment === 0) return this.#resetStream(stream, ErrorCode.PROTOCOL_ERROR, 'WINDOW_UPDATE by nothing');
    stream.sendWindow += increment;
    if (stream.sendWindow > MAX_WINDOW)
      return this.#resetStream(stream, ErrorCode.FLOW_CONTROL_ERROR, 'WINDOW_UPDATE overflows the window');
    return core.outbox.ready(stream);
  }

  /** Handles a stream error (section 5.4.2): the peer receives RST_STREAM, the handler the reason. */
  #resetStream(stream: SessionStream, code: number, reason: string): void {
    if (stream.gone) return;
    this.#spendReset(stream);
    this.#worked(1);
    this.#core.streamReset(stream, code);
    stream.reportReset({ code, reason: `${nameOfErrorCode(code)}: ${reason}` });
  }

  /** Opening and resetting streams costs this end more than the peer, whichever end resets them (CVE-2023-44487, CVE-2025-8671). */
  #spendReset({ headSent }: SessionStream): void {
    if (this.#core.role === 'client' || headSent || this.#core.earlyResets.take(this.#core.now())) return;
    throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many streams are reset before they were answered');
  }

  #spend(what: string): void {
    if (!this.#core.idleFrames.take(this.#core.now())) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `too many ${what}`);
  }

  /** Charges frames that visit every stream. */
  #spendForStreams(what: string): void {
    const { size } = this.#core.streams;
    this.#worked((size / STREAMS_A_FRAME) * FRAME);
    for (let streams = size; streams > 0; streams -= STREAMS_A_FRAME) this.#spend(what);
  }
}

/** Default of RFC 7541, which this end never changes. */
const HEADER_TABLE_BYTES = 4_096;
/** Number of streams that cost about as much to visit as a frame costs to answer. */
const STREAMS_A_FRAME = 256;
/** Work relative to a request: of any frame, of the end of a stream's data, and of reading a CONNECT head. */
const FRAME = 1 / 32;
const STREAM_END = 1 / 8;
const REQUEST_READ = 1 / 16;
/** Octets of fields that cost about as much to decode as a request costs to begin. */
const BLOCK_BYTES = 8_192;
const TOO_LARGE = { ok: true, head: undefined } as const;

/** CONNECT data is not content (RFC 9110 section 9.3.6). @returns -1 without a content-length, undefined if it is malformed */
function promisedLength(method: string, value: string | undefined): number | undefined {
  if (value === undefined || method === 'CONNECT') return -1;
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
