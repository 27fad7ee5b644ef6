import type { Socket } from 'node:net';
import { bounded, guard } from '../../telemetry/boundary.ts';
import { ErrorCode } from '../http2/errors.ts';
import { PIECE_COST, TLS_COST, TLS_FEED_COST } from '../memory/costs.ts';
import { Pieces, SHORT } from '../memory/pieces.ts';
import { receive } from '../../net/shared-read-buffer.ts';
import { forgetStalled, watchStalled, type Stalled } from './stalled-sockets.ts';
import type { HalfEndpoint, ConnectionHalf } from '../connection-half.ts';

/** Of a request or an answer, mostly all. */
const SMALL = 4096;
/** Small pieces that go by themselves; more of them wait for the end of the turn, which begins the count anew. */
const AT_ONCE = 16;
const NOTHING = Buffer.alloc(0);
/** Above the socket's own high-water mark (64 KiB), so that a `drain` event is sure to come. */
const WRITE_LIMIT = 128 * 1024;
/** Short pieces that wait in the socket: Node.js keeps each by itself, and all that it was cut from. */
const MOST_SHORT = 2;

/**
 * A TCP or TLS socket as one end of a connection. FIN is the orderly end of one direction, RST is a reset: whatever else
 * ends the socket comes out as `onReset`.
 */
export class SocketEndpoint implements HalfEndpoint, Stalled {
  readonly #socket: Socket;
  readonly #raw: Socket;
  readonly #side: ConnectionHalf;
  #unconsumed = 0;
  /** All bytes that have come. */
  #read = 0;
  #paused = false;
  #corked = false;
  #small = 0;
  /** The peer has ended its half. */
  #ended = false;
  /** Something was taken since it was last looked after. */
  #moved = false;
  /** Short pieces that it was given since nothing waited. While they are as many as it may have, `#giveWaiting` is called once it has written them. */
  #short = 0;
  /** What comes meanwhile. */
  readonly #waits = new Pieces();

  /** `raw` is the TCP socket below a TLS socket (only it can send an RST), or the socket itself. */
  constructor(socket: Socket, raw: Socket, side: ConnectionHalf) {
    this.#socket = socket;
    this.#raw = raw;
    side.closed = false;
    this.#side = side;
    const broken = (): void => this.broken();
    const destroy = (): void => void socket.destroy();
    let failure: Error | undefined;
    const onEnd = (): void => {
      this.#ended = true;
      side.onEnd();
      watchStalled(this);
    };
    const onError = (error: Error): void => {
      failure = error;
    };
    const onClose = (): void => {
      forgetStalled(this);
      if (failure === undefined && side.ended && socket.writableFinished) side.onClosed();
      else side.onReset({ code: ErrorCode.CONNECT_ERROR, reason: failure?.message ?? 'closed before its end' });
    };
    const hearEnd = bounded('connection/socket-end', onEnd, broken);
    socket.on('end', hearEnd);
    // What ends with its handshake, as a probe does, has said so before anybody listened.
    if (socket.readableEnded) queueMicrotask(hearEnd);
    socket.on(
      'drain',
      bounded('connection/socket-drain', () => side.onDrain(), broken),
    );
    socket.on('error', bounded('connection/socket-error', onError, broken));
    if (raw !== socket) raw.on('error', bounded('connection/raw-error', destroy, destroy));
    socket.on('close', bounded('connection/socket-close', onClose, broken));
    receive(
      socket,
      bounded('connection/socket-data', (chunk: Buffer) => this.#onData(chunk, side), broken),
    );
  }

  /** After an error that nobody expected. */
  broken(): void {
    this.reset();
    this.#side.onReset({ code: ErrorCode.INTERNAL_ERROR, reason: 'an unexpected error at this end' });
  }

  get stalled(): boolean {
    return !this.#socket.destroyed && (this.#paused || this.#ended);
  }

  get queued(): number {
    return this.#socket.writableLength + this.#waits.bytes;
  }

  get held(): number {
    const { writableLength } = this.#socket;
    const tls = this.#socket === this.#raw ? 0 : TLS_COST + Math.min(this.#read, TLS_FEED_COST);
    return writableLength === 0 ? tls : tls + writableLength + this.#short * PIECE_COST + this.#waits.held;
  }

  write(chunk: Buffer): boolean {
    const socket = this.#socket;
    // What comes within one turn of the event loop leaves in one system call; a little goes at once, unless it comes again and again.
    if (!this.#corked && (chunk.length > SMALL || ++this.#small > AT_ONCE)) {
      this.#corked = true;
      socket.cork();
      uncorkSoon(this);
    }
    const waits = this.#waits.bytes > 0;
    if (!waits && socket.writableLength === 0) this.#short = 0;
    const isShort = chunk.length <= SHORT;
    if (waits || (isShort && this.#short >= MOST_SHORT)) {
      this.#waits.push(chunk);
    } else {
      if (isShort) this.#short += 1;
      this.#give(chunk, isShort && this.#short === MOST_SHORT);
    }
    return this.queued < WRITE_LIMIT;
  }

  /** @param isLast after it what waits is given */
  #give(chunk: Buffer, isLast: boolean): void {
    if (!isLast) {
      this.#socket.write(chunk);
      return;
    }
    const written = (): void => {
      if (this.#socket.destroyed) return;
      this.#short = 0;
      this.#giveWaiting();
      if (!this.#socket.writableNeedDrain) this.#side.onDrain();
    };
    this.#socket.write(
      chunk,
      bounded('connection/socket-written', written, () => this.broken()),
    );
  }

  #giveWaiting(): void {
    if (this.#waits.bytes === 0) return;
    const chunks = this.#waits.takeAll();
    this.#short = Math.max(MOST_SHORT, chunks.length);
    this.#socket.cork();
    for (const [index, chunk] of chunks.entries()) this.#give(chunk, index === chunks.length - 1);
    this.#socket.uncork();
  }

  uncork(): void {
    this.#corked = false;
    this.#small = 0;
    this.#socket.uncork();
  }

  /**
   * Over TLS the last word would take from the kernel that the peer has reset, and what is read next looks like its end: so that is asked first, by writing nothing
   * (see `ask`).
   */
  end(): void {
    this.#giveWaiting();
    const [socket, raw] = [this.#socket, this.#raw];
    if (socket === raw || !raw.writable) {
      socket.end();
      return;
    }
    const isThere = (error?: Error | null): void => {
      if (error) socket.destroy(error);
      else if (!socket.destroyed) socket.end();
    };
    raw.write(
      NOTHING,
      bounded('connection/end-asked', isThere, () => this.broken()),
    );
  }

  reset(): void {
    resetSocket(this.#socket, this.#raw);
  }

  consumed(bytes: number): void {
    this.#unconsumed -= bytes;
    this.#moved = true;
    if (this.#unconsumed > 0 || !this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /**
   * Writing nothing tells: it fails where the peer is gone (ECONNRESET, EPIPE), which destroys the socket, and does nothing where it is not. What
   * waits to be written is polled, and needs no such question. After our own end it cannot be asked; a peer that resets then is noticed
   * when what it sent before has been taken.
   */
  ask(): void {
    const [socket, raw] = [this.#socket, this.#raw];
    const isPolled = socket.writableLength + raw.writableLength > 0;
    if (!this.#moved && !isPolled && socket.writable && raw.writable) raw.write(NOTHING);
    this.#moved = false;
  }

  #onData(chunk: Buffer, side: ConnectionHalf): void {
    this.#unconsumed += chunk.length;
    this.#read += chunk.length;
    side.onData(chunk);
    if (this.#unconsumed > 0 && !this.#paused) {
      this.#paused = true;
      this.#socket.pause();
      watchStalled(this);
    }
  }
}

const corked: SocketEndpoint[] = [];

function uncorkSoon(end: SocketEndpoint): void {
  corked.push(end);
  if (corked.length > 1) return;
  setImmediate(uncorkAll);
}

const uncorkAll = bounded(
  'look/uncork',
  () => {
    for (const each of corked.splice(0)) guard('connection/uncork', each, uncork, broken);
  },
  () => corked.splice(0).forEach(broken),
);

const uncork = (end: SocketEndpoint): void => end.uncork();
const broken = (end: SocketEndpoint): void => end.broken();

/** Ends a connection in a way that its peer cannot take for an orderly end. */
export function resetSocket(socket: Socket, raw: Socket): void {
  if (isEnding(socket)) resetAfterEnd(socket, raw);
  else resetNow(socket, raw);
}

function resetNow(socket: Socket, raw: Socket): void {
  if (!raw.destroyed) raw.resetAndDestroy();
  if (socket !== raw) socket.destroy();
}

/** Its end is on its way to the kernel, behind all else. */
const isEnding = (socket: Socket): boolean =>
  !socket.destroyed && socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;

/**
 * libuv resets no socket that it is shutting down (`uv_tcp_close_reset`, EINVAL); Node.js takes it for one that is being closed all the same, and neither closes
 * it nor tells anybody, for good. That takes until the next turn of the event loop, but for TLS, whose last word may have to wait for its peer: then it is closed, and
 * its peer, which will not get that word, cannot take it for an end in order (RFC 8446 section 6.1).
 */
function resetAfterEnd(socket: Socket, raw: Socket): void {
  const close = (): void => {
    raw.destroy();
    socket.destroy();
  };
  const reset = (): void => resetNow(socket, raw);
  socket.pause();
  socket.once('finish', bounded('connection/reset-after-end', reset, close));
  if (socket !== raw) setImmediate(bounded('connection/closed-before-end', close, close));
}
