import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';

import { bounded } from '../telemetry/boundary.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import type { SessionCore } from './core.ts';
import type { RequestHead, RequestOptions, ResponseHead, Session, SessionEvents, Stream, StreamHandler, StreamReset } from './contract.ts';
import { ConnectionError, ErrorCode, nameOfErrorCode, MOST_WORDS, sessionClosed } from './errors.ts';
import { FrameReader } from './frame-reader.ts';
import {
  DEFAULT_WINDOW,
  goawayFrame,
  headersFrames,
  MAX_STREAM_ID,
  PREFACE,
  resetFrame,
  Setting,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts';
import { requestLines, responseLines } from './heads.ts';
import { encodeHeaderBlock } from './hpack/encoder.ts';
import { Inbound } from './inbound.ts';
import { DeferredWork } from './deferred-work.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { HalfClosedStreams } from './half-closed-streams.ts';
import type { SessionLimits } from './limits.ts';
import { Outbox } from './outbox.ts';
import { Pings } from './pings.ts';
import { ReceiveWindows } from './receive-windows.ts';
import { SLAB_BYTES } from './slabs.ts';
import { SessionStream } from './stream.ts';
import { PeerLoopQuota } from '../limits/loop/loop-quota.ts';
import { STREAM_COST } from '../memory/costs.ts';
import type { Memory } from '../memory/memory.ts';
import { NestedFairShare, type ShareOwner } from '../limits/nested-fair-share.ts';
import { receive } from '../net/shared-read-buffer.ts';
import { printableAscii } from '../text/printable.ts';
import { FairQueue } from '../limits/fair-queue.ts';

export interface SessionOptions {
  readonly role: 'client' | 'server';
  readonly events: SessionEvents;
  readonly limits?: Partial<SessionLimits>;
  /** Event-loop quota shared by all sessions with the same peer; the default is one for this session only. */
  readonly turn?: PeerLoopQuota;
  /** Memory accounting for requests that their users abandoned and the peer has not answered, charged to their `whose`. */
  readonly memory?: Pick<Memory, 'charge'>;
  /** Monotonic clock in milliseconds; replaced in tests. */
  readonly now?: () => number;
}

/**
 * Speaks HTTP/2 on a connected socket: a `tls.TLSSocket` after its handshake, or a `net.Socket`. The session owns the socket and ends or
 * destroys it.
 *
 * Input is read into a buffer that is reused at once (shared-read-buffer.ts), so a handler copies what it keeps.
 */
export function createSession(socket: Duplex, options: SessionOptions): Session {
  return new Http2Session(socket, options);
}

class Http2Session implements Session, SessionCore {
  readonly role: 'client' | 'server';
  readonly limits: SessionLimits;
  readonly events: SessionEvents;
  readonly outbox: Outbox;
  readonly windows: ReceiveWindows;
  /** Fair share of the streams that the peer allows, for streams opened by this end. */
  readonly shares = new NestedFairShare(PEER_STREAMS);
  readonly streams = new Map<number, SessionStream>();
  readonly pings: Pings;
  readonly idleFrames: RateLimiter;
  readonly earlyResets: RateLimiter;
  /** Rate limiter for early resets of streams that this end opened. */
  readonly #ownEarlyResets: RateLimiter;
  readonly now: () => number;
  peerInitialWindow = DEFAULT_WINDOW;
  queued = 0;
  #state: 'open' | 'draining' | 'closed' = 'open';
  readonly #socket: Duplex;
  readonly #inbound: Inbound;
  readonly #lingering: HalfClosedStreams;
  readonly #reader: FrameReader;
  readonly #turn: PeerLoopQuota;
  readonly #memory: Pick<Memory, 'charge'> | undefined;
  /** Octets of the client's preface that the server has not received yet. */
  #preface: number;
  /** Octets received and deferred to a later event-loop iteration; the socket is paused meanwhile. */
  #unread: Buffer = EMPTY;
  readonly #later: DeferredWork;
  /** Requests not sent yet, round-robin by owner and key. */
  readonly #waiting = new FairQueue<WaitingRequest>();
  readonly #waitingOf = new Map<SessionStream, WaitingRequest>();
  /** Fair share of the bytes of their heads. */
  readonly #waitingShares = new NestedFairShare(REQUESTS_WAITING, true);
  #waitingBytes = 0;
  #nextId = 1;
  /** Highest stream of this end that the peer processes. */
  #mostTaken = MAX_STREAM_ID;
  #measuring = false;
  #goawaySent: 'no' | 'notice' | 'final' = 'no';
  #settingsUnacknowledged = 0;
  #settingsTimer: NodeJS.Timeout | undefined;

  constructor(socket: Duplex, options: SessionOptions) {
    this.#socket = socket;
    this.role = options.role;
    this.events = options.events;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.now = options.now ?? (() => performance.now());
    this.#turn = options.turn ?? new PeerLoopQuota();
    this.#memory = options.memory;
    this.#lingering = new HalfClosedStreams(this.limits.answeredDeadline, this.#turn.work, this.now);
    this.#later = new DeferredWork(this.#turn.work, this.limits.requestsWaiting, () => this.#fault());
    this.outbox = new Outbox(socket, { onTaken: () => this.openWaiting(), onIdle: () => this.#closeIfDone(), onFault: this.#fault });
    this.pings = new Pings((frame) => this.outbox.control(frame), this.now);
    this.idleFrames = new RateLimiter(this.limits.idleFrames);
    this.earlyResets = new RateLimiter(this.limits.earlyResets);
    const { burst, perSecond } = this.limits.earlyResets;
    this.#ownEarlyResets = new RateLimiter({ burst: burst / 2, perSecond: perSecond / 2 });
    this.windows = new ReceiveWindows(
      this.limits,
      {
        credit: (streamId, bytes) => this.outbox.control(windowUpdateFrame(streamId, bytes)),
        announce: (initialWindow) => this.#sendSettings([[Setting.INITIAL_WINDOW_SIZE, initialWindow]]),
        measure: () => this.#measure(),
      },
      this.now,
    );
    this.#inbound = new Inbound(this);
    this.#reader = new FrameReader(this.#inbound, this.limits.frameBytes);
    this.#preface = this.role === 'server' ? PREFACE.length : 0;
    this.#begin();
  }

  get state(): 'open' | 'draining' | 'closed' {
    return this.#state;
  }

  get openStreams(): number {
    return this.streams.size + this.#waiting.size;
  }

  get held(): number {
    const read = this.#unread.length + this.#later.held + this.#waitingBytes;
    // Streams that this end opened are charged to their users.
    const opened = this.role === 'server' ? this.streams.size * STREAM_COST : 0;
    return this.outbox.held + read + opened;
  }

  get nextLocalStream(): number {
    return this.role === 'client' ? this.#nextId : 0;
  }

  get takesStreams(): boolean {
    return this.role === 'server' && this.#goawaySent !== 'final';
  }

  get peerConcurrentStreams(): number {
    return this.shares.most;
  }

  set peerConcurrentStreams(most: number) {
    this.shares.most = most;
  }

  hasRoom(whose: ShareOwner): boolean {
    return this.openStreams < this.peerConcurrentStreams && this.shares.hasRoom(whose, 1) && this.#waitingShares.hasRoom(whose, 1);
  }

  request(head: RequestHead, handler: StreamHandler, { end = false, whose }: RequestOptions = {}): Stream {
    if (this.#state !== 'open' || this.role !== 'client') throw sessionClosed(this.role === 'client' ? this.#state : "the server's end");
    const block = encodeHeaderBlock(requestLines(head));
    const stream = new SessionStream(this, this.peerInitialWindow, this.now());
    stream.handler = handler;
    stream.headSent = true;
    stream.ending = end;
    stream.whose = whose;
    stream.key = whose?.key ?? '';
    if (whose !== undefined) this.shares.change(whose, 1);
    if (this.#waiting.size === 0 && this.#mayOpen && this.#nextId <= MAX_STREAM_ID) {
      this.#open(stream, block, end);
      return stream;
    }
    this.#wait({ stream, block, end, whose });
    this.openWaiting();
    return stream;
  }

  ping(deadline: number): Promise<number> {
    return this.#state === 'closed' ? Promise.reject(sessionClosed('closed')) : this.pings.send(deadline);
  }

  drain(): void {
    if (this.#state === 'closed' || this.#goawaySent !== 'no') return;
    this.#state = 'draining';
    this.#refuseWaiting();
    if (this.role === 'client') {
      this.#finalGoaway();
      return;
    }
    // RFC 9113 section 6.8: streams that the client opened before it received this GOAWAY must not be lost.
    this.#goawaySent = 'notice';
    this.outbox.control(goawayFrame(MAX_STREAM_ID, ErrorCode.NO_ERROR, 'draining'));
    this.pings.notify(() => this.#finalGoaway());
  }

  destroy(error?: Error): void {
    const code = error instanceof ConnectionError ? error.errorCode : error === undefined ? ErrorCode.NO_ERROR : ErrorCode.INTERNAL_ERROR;
    this.#fail(code, error?.message ?? 'closed by this end');
  }

  sendResponse(stream: SessionStream, head: ResponseHead, end: boolean): void {
    const frames = headersFrames(stream.id, encodeHeaderBlock(responseLines(head)), end, this.outbox.maxFrame);
    this.outbox.control(frames);
  }

  answered(stream: SessionStream): void {
    // A closed session cuts its streams itself.
    if (this.#state !== 'closed') this.#lingering.add(stream);
  }

  streamEnded(stream: SessionStream): void {
    // After the session closed, an END_STREAM is not sent any more: `onReset` is about to follow.
    if (this.#state === 'closed') return;
    stream.gone = true;
    this.earlyResets.giveBack();
    this.#ownEarlyResets.giveBack();
    this.#forget(stream, 'ended');
  }

  /**
   * Short-lived clients would look to the peer like a rapid-reset attack, and it would close the connection with all its streams. So only
   * half of the early resets that a peer allows are sent at once. Any other unanswered stream is reset when its response arrives.
   */
  streamLeft(stream: SessionStream, code: number): void {
    const isEarly = this.role === 'client' && this.#state !== 'closed' && stream.id !== 0 && !stream.headReceived;
    if (!isEarly || this.#ownEarlyResets.take(this.now())) return this.streamReset(stream, code);
    stream.resetWhenAnswered(code);
    return this.#charge(stream, STREAM_COST);
  }

  streamReset(stream: SessionStream, code: number): void {
    stream.discard();
    if (stream.id === 0) this.#waitNoMore(this.#waitingOf.get(stream));
    else this.outbox.control(resetFrame(stream.id, code));
    this.windows.released(stream);
    this.#forget(stream, 'reset-here');
  }

  peerReset(stream: SessionStream, reason: StreamReset): void {
    const { waiting } = stream;
    stream.discard();
    this.windows.released(stream);
    this.#forget(stream, 'reset-there');
    // A request that has not begun has no handler to notify.
    if (waiting === undefined) this.#later.do(stream.key, () => stream.reportReset(reason));
  }

  beginInTurn(stream: SessionStream, size: number, begin: () => void): boolean {
    return this.#later.begin(stream, size, begin);
  }

  #cutStream(stream: SessionStream, reason: StreamReset): void {
    if (stream.gone) return;
    stream.discard();
    this.windows.released(stream);
    this.#forget(stream, 'reset-there');
    stream.reportReset(reason);
  }

  handlerFailed(error: unknown): void {
    this.events.onInternalError('stream', error);
  }

  queuedChanged(bytes: number): void {
    this.queued += bytes;
  }

  answer(frame: Buffer): void {
    this.outbox.answer(frame);
    if (this.outbox.answerBytes > this.limits.answersQueued)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'the peer sends requests and does not read the responses');
  }

  ready(): void {
    this.#armSettingsTimer();
    this.#notify(() => this.events.onReady());
  }

  settingsAcknowledged(): void {
    if (this.#settingsUnacknowledged === 0) return;
    this.#settingsUnacknowledged--;
    this.#armSettingsTimer();
    this.windows.acknowledged(this.streams);
  }

  goaway(lastStreamId: number, reason: StreamReset): void {
    if (this.#state === 'open') this.#state = 'draining';
    this.#notify(() => this.events.onGoaway(reason));
    this.#refuseWaiting();
    // Streams above the limit of an earlier GOAWAY are already being cut.
    const mostTaken = this.#mostTaken;
    if (this.role === 'client' && lastStreamId < mostTaken) {
      this.#mostTaken = lastStreamId;
      const refused = [...this.streams.values()].filter(({ id }) => id > lastStreamId && id <= mostTaken);
      const late = { code: ErrorCode.REFUSED_STREAM, reason: 'the peer accepts no more streams' };
      this.#inTurns(refused, (stream) => this.#cutStream(stream, late));
    }
    this.#closeIfDone();
  }

  /**
   * HEADERS leave before all DATA. Few are queued at a time, so that DATA gets its part of each write, however many requests wait and
   * however long their heads.
   */
  get #mayOpen(): boolean {
    return this.streams.size < this.peerConcurrentStreams && this.outbox.controlBytes < MOST_AHEAD;
  }

  openWaiting(): void {
    while (this.#waiting.size > 0 && this.#mayOpen) {
      if (this.#nextId > MAX_STREAM_ID) {
        this.goaway(MAX_STREAM_ID, { code: ErrorCode.NO_ERROR, reason: 'the connection has used up its stream identifiers' });
        return;
      }
      const next = this.#nextWaiting();
      if (next === undefined) return;
      this.#open(next.stream, next.block, next.end);
    }
  }

  #wait(request: WaitingRequest): void {
    this.#waitingOf.set(request.stream, request);
    this.#waiting.add(turnOf(request), request);
    this.#countWaiting(request, request.block.length);
  }

  #waitNoMore(request: WaitingRequest | undefined): void {
    if (request === undefined || !this.#waitingOf.delete(request.stream)) return;
    this.#waiting.delete(turnOf(request), request);
    this.#countWaiting(request, -request.block.length);
  }

  #nextWaiting(): WaitingRequest | undefined {
    const next = this.#waiting.take();
    if (next === undefined) return undefined;
    this.#waitingOf.delete(next.stream);
    this.#countWaiting(next, -next.block.length);
    return next;
  }

  /** Empties the queue. @returns the streams that waited */
  #takeWaiting(): readonly SessionStream[] {
    const all: SessionStream[] = [];
    for (let next = this.#nextWaiting(); next !== undefined; next = this.#nextWaiting()) all.push(next.stream);
    return all;
  }

  #countWaiting({ whose }: WaitingRequest, bytes: number): void {
    this.#waitingBytes += bytes;
    if (whose !== undefined) this.#waitingShares.change(whose, bytes);
  }

  #open(stream: SessionStream, block: Buffer, end: boolean): void {
    stream.id = this.#nextId;
    this.#nextId += 2;
    stream.sendWindow = this.peerInitialWindow;
    stream.window = this.windows.initial;
    stream.target = stream.window;
    this.streams.set(stream.id, stream);
    this.outbox.control(headersFrames(stream.id, block, end, this.outbox.maxFrame));
    if (end) stream.endedLocally();
    else stream.opened();
  }

  #begin(): void {
    const { limits } = this;
    if (this.role === 'client') this.outbox.control(PREFACE);
    this.#sendSettings([
      [Setting.ENABLE_PUSH, 0],
      [Setting.MAX_CONCURRENT_STREAMS, limits.concurrentStreams],
      [Setting.INITIAL_WINDOW_SIZE, limits.streamWindow],
      [Setting.MAX_FRAME_SIZE, limits.frameBytes],
      [Setting.MAX_HEADER_LIST_SIZE, limits.headerListBytes],
    ]);
    if (limits.unconsumed > DEFAULT_WINDOW) this.outbox.control(windowUpdateFrame(0, limits.unconsumed - DEFAULT_WINDOW));
    this.#measure();
    const socket = this.#socket;
    const broke = (reason: string): void => this.#finish({ code: ErrorCode.INTERNAL_ERROR, reason });
    const onEnd = (): void => broke('the peer closed the connection');
    const onError = (error: Error): void => broke(`the connection broke: ${printableAscii(error.message, MOST_WORDS)}`);
    const onClose = (): void => broke('the connection is closed');
    socket.on('end', bounded('session/end', onEnd, this.#fault));
    socket.on('error', bounded('session/error', onError, this.#fault));
    socket.on('close', bounded('session/close', onClose, this.#fault));
    receive(socket, bounded('session/data', this.#onData, this.#fault));
  }

  readonly #fault = (): void => this.#fail(ErrorCode.INTERNAL_ERROR, FAULT);

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state === 'closed') return;
    if (this.#unread.length > 0) {
      // TLS emits what it has already decrypted, even while paused.
      this.#unread = Buffer.concat([this.#unread, chunk]);
      return;
    }
    const left = this.#turn.reading.isBusy ? chunk : this.#read(chunk);
    if (left.length === 0) return;
    // The chunk belongs to the socket and is valid during this call only.
    this.#unread = Buffer.from(left);
    this.#socket.pause();
    this.#turn.reading.wait(this.#readOn);
  };

  readonly #readOn = bounded(
    'session/read-on',
    () => {
      if (this.#state === 'closed') return;
      this.#unread = this.#read(this.#unread);
      if (this.#unread.length > 0) this.#turn.reading.wait(this.#readOn);
      else this.#socket.resume();
    },
    () => this.#fault(),
  );

  /** @returns what is left for a later event-loop iteration */
  #read(octets: Buffer): Buffer {
    try {
      const rest = this.#preface > 0 ? this.#readPreface(octets) : octets;
      return rest.length > 0 ? this.#reader.push(rest) : EMPTY;
    } catch (error) {
      if (error instanceof ConnectionError) this.#fail(error.errorCode, error.message);
      else this.#failUnexpectedly(error);
      return EMPTY;
    }
  }

  worked(pieces: number): void {
    this.#turn.reading.spend(pieces);
    if (this.#turn.reading.isSpent) this.#reader.pause();
  }

  /** An exception thrown by the session's user ends the session. */
  #notify(event: () => void): void {
    try {
      event();
    } catch (error) {
      this.#failUnexpectedly(error);
    }
  }

  #failUnexpectedly(error: unknown): void {
    this.events.onInternalError('session', error);
    this.#fault();
  }

  /** RFC 9113 section 3.4. */
  #readPreface(chunk: Buffer): Buffer {
    const from = PREFACE.length - this.#preface;
    const length = Math.min(chunk.length, this.#preface);
    if (PREFACE.compare(chunk, 0, length, from, from + length) !== 0)
      throw new ConnectionError(
        ErrorCode.PROTOCOL_ERROR,
        'the peer does not speak HTTP/2: its first octets are not the connection preface',
      );
    this.#preface -= length;
    return chunk.subarray(length);
  }

  #sendSettings(settings: readonly (readonly [number, number])[]): void {
    this.outbox.control(settingsFrame(settings));
    this.#settingsUnacknowledged++;
    this.#armSettingsTimer();
  }

  /** The timer runs while the peer owes its SETTINGS or an acknowledgement of ours. */
  #armSettingsTimer(): void {
    clearTimeout(this.#settingsTimer);
    if (this.#settingsUnacknowledged === 0 || this.#state === 'closed') return;
    const { settingsDeadline } = this.limits;
    const late = (): void => this.#fail(ErrorCode.SETTINGS_TIMEOUT, `the peer did not answer our SETTINGS within ${settingsDeadline} ms`);
    this.#settingsTimer = setTimeout(bounded('session/settings-deadline', late, this.#fault), settingsDeadline);
    this.#settingsTimer.unref();
  }

  #measure(): void {
    // A peer that never answers gets one PING only.
    if (this.#measuring) return;
    this.#measuring = true;
    const since = this.now();
    this.pings.notify(() => {
      this.#measuring = false;
      this.windows.sample(this.now() - since);
    });
  }

  #finalGoaway(): void {
    if (this.#state === 'closed' || this.#goawaySent === 'final') return;
    this.#goawaySent = 'final';
    this.outbox.control(goawayFrame(this.#inbound.lastPeerStream, ErrorCode.NO_ERROR, 'draining'));
  }

  #refuseWaiting(): void {
    const refused = this.#takeWaiting();
    const reason = { code: ErrorCode.REFUSED_STREAM, reason: 'the session accepts no more streams' };
    this.#inTurns(refused, (stream) => this.#cutStream(stream, reason));
  }

  #forget(stream: SessionStream, how: 'ended' | 'reset-here' | 'reset-there'): void {
    this.#countNoMore(stream);
    if (stream.id === 0 || !this.streams.delete(stream.id)) return;
    this.#lingering.delete(stream);
    this.#inbound.remember(stream.id, how);
    if (how === 'ended') this.windows.ended(stream);
    if (this.#waiting.size > 0) this.openWaiting();
    if (this.#state === 'draining') this.#closeIfDone();
  }

  #countNoMore(stream: SessionStream): void {
    if (stream.whose !== undefined) this.shares.change(stream.whose, -1);
    if (stream.isLeft) this.#charge(stream, -STREAM_COST);
    stream.whose = undefined;
    this.#later.drop(stream);
  }

  #charge({ whose }: SessionStream, bytes: number): void {
    if (whose !== undefined) this.#memory?.charge(whose, bytes);
  }

  #closeIfDone(): void {
    if (this.#state !== 'draining' || this.openStreams > 0 || this.#goawaySent === 'notice' || !this.outbox.idle) return;
    if (this.#goawaySent === 'no') {
      this.#finalGoaway();
      return;
    }
    this.outbox.finish();
    this.#finish({ code: ErrorCode.NO_ERROR, reason: 'drained' });
  }

  /** Sends the peer a GOAWAY with the reason if possible, and ends the session. */
  #fail(code: number, reason: string): void {
    if (this.#state === 'closed') return;
    const text =
      code === ErrorCode.NO_ERROR ? printableAscii(reason, MOST_WORDS) : `${nameOfErrorCode(code)}: ${printableAscii(reason, MOST_WORDS)}`;
    this.outbox.control(goawayFrame(this.#inbound.lastPeerStream, code, printableAscii(reason, MOST_WORDS)));
    this.outbox.finish();
    this.#finish({ code, reason: text });
  }

  #finish(reason: StreamReset): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#reader.stop();
    if (this.#unread.length > 0) this.#socket.resume();
    this.#unread = EMPTY;
    this.outbox.close();
    clearTimeout(this.#settingsTimer);
    this.#lingering.close();
    this.pings.close(reason.reason);
    const streams = [...this.#takeWaiting(), ...this.streams.values()];
    this.streams.clear();
    for (const stream of streams) this.#later.drop(stream);
    this.#inTurns(streams, (stream) => {
      this.#countNoMore(stream);
      this.windows.released(stream);
      if (!stream.gone) stream.cut(reason);
    });
    this.#release();
    this.#notify(() => this.events.onClose(reason));
  }

  /** Cutting a stream ends a connection and everything behind it, so only a few are cut in an event-loop iteration. */
  #inTurns(streams: readonly SessionStream[], cut: (stream: SessionStream) => void): void {
    for (const stream of streams) this.#later.do(stream.key, () => cut(stream));
  }

  /**
   * A peer that neither reads nor closes must not hold the socket. What it still sends is read and dropped, so that it receives the GOAWAY
   * and not a TCP reset.
   */
  #release(): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    if (!socket.writableEnded) socket.end();
    const destroy = (): void => void socket.destroy();
    const timer = setTimeout(bounded('session/linger', destroy, destroy), LINGER);
    timer.unref();
    const closed = (): void => clearTimeout(timer);
    socket.once('close', bounded('session/let-go-closed', closed, closed));
    socket.once('end', bounded('session/let-go-ended', destroy, destroy));
    if (socket.readableEnded) socket.destroy();
  }
}

interface WaitingRequest {
  readonly stream: SessionStream;
  readonly block: Buffer;
  readonly end: boolean;
  readonly whose: ShareOwner | undefined;
}

const turnOf = ({ whose }: WaitingRequest): string => (whose === undefined ? '' : `${whose.owner}\n${whose.key ?? ''}`);

const EMPTY = Buffer.alloc(0);
/** Bytes of queued control frames above which requests wait: half of one write. */
const MOST_AHEAD = SLAB_BYTES / 2;
/** Bytes of request heads that may wait. */
const REQUESTS_WAITING = 1 << 20;
/** Streams that a peer allows before it sends a limit. RFC 9113 section 6.5.2 recommends no lower limit. */
const PEER_STREAMS = 100;
const FAULT = 'an unexpected error at this end';
/** Milliseconds that a closed session's socket may take to deliver its GOAWAY. */
const LINGER = 10_000;
