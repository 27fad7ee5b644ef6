import type { Socket } from 'node:net';
import { bounded, guard } from '../../telemetry/boundary.ts';
import { ErrorCode } from '../../http2/errors.ts';
import { PIECE_COST, TLS_COST, TLS_FEED_COST } from '../../memory/costs.ts';
import { Pieces, SHORT } from '../../memory/pieces.ts';
import { receive } from '../../net/shared-read-buffer.ts';
import { hostPort } from '../../text/host-port.ts';
import { forgetStalled, watchStalled, type Stalled } from './stalled-sockets.ts';
import type { HalfEndpoint, ConnectionHalf } from '../connection-half.ts';

/** Maximum size in bytes of a small piece. Most requests and responses are smaller. */
const SMALL = 4096;
/** Number of small pieces that are sent at once. Further ones wait for the end of the iteration, which resets the count. */
const AT_ONCE = 16;
const NOTHING = Buffer.alloc(0);
/** Limit in bytes above the socket's high-water mark (64 KiB), so that a `drain` event is certain to follow. */
const WRITE_LIMIT = 128 * 1024;
/** Maximum number of short pieces queued in the socket: Node.js keeps each of them separately, with the buffer it was sliced from. */
const MOST_SHORT = 2;

/**
 * A TCP or TLS socket as one end of a connection. FIN is the orderly end of one direction, and RST is a reset. Everything else that ends
 * the socket is reported as `onReset`.
 */
export class SocketEndpoint implements HalfEndpoint, Stalled {
  readonly #socket: Socket;
  readonly #raw: Socket;
  readonly #side: ConnectionHalf;
  #failure: Error | undefined;
  #unconsumed = 0;
  /** Number of bytes received so far. */
  #read = 0;
  #paused = false;
  #corked = false;
  #small = 0;
  /** Whether the peer has ended its half. */
  #ended = false;
  /** Whether bytes were consumed since the last check. */
  #moved = false;
  /**
   * Number of short pieces written since the queue was last empty. At the maximum, `#giveWaiting` is called once the socket has written
   * them.
   */
  #short = 0;
  /** Bytes that arrive meanwhile. */
  readonly #waits = new Pieces();

  /** `raw` is the TCP socket below a TLS socket (only it can send an RST), or the socket itself. */
  constructor(socket: Socket, raw: Socket, side: ConnectionHalf) {
    this.#socket = socket;
    this.#raw = raw;
    side.closed = false;
    this.#side = side;
    const owned: OwnedSocket = socket;
    owned[ENDPOINT] = this;
    socket.on('end', onEnd);
    // A socket that ends with its handshake, as a probe does, has ended before there was a listener.
    if (socket.readableEnded) queueMicrotask(onEnd.bind(socket));
    socket.on('drain', onDrain);
    socket.on('error', onError);
    const destroy = (): void => void socket.destroy();
    if (raw !== socket) raw.on('error', bounded('connection/raw-error', destroy, destroy));
    socket.on('close', onClose);
    receive(socket, onData);
  }

  ended(): void {
    this.#ended = true;
    this.#side.onEnd();
    watchStalled(this);
  }

  drained(): void {
    this.#side.onDrain();
  }

  /** After its handshake, a TLS socket reports an invalid record and stays open. */
  failed(error: Error): void {
    this.#failure = error;
    this.#socket.destroy();
  }

  closed(): void {
    forgetStalled(this);
    const [failure, side] = [this.#failure, this.#side];
    if (failure === undefined && side.ended && this.#socket.writableFinished) side.onClosed();
    else side.onReset({ code: ErrorCode.CONNECT_ERROR, reason: failure?.message ?? 'closed before its end' });
  }

  /** Ends the connection after an unexpected error. */
  broken(): void {
    this.reset();
    this.#side.onReset({ code: ErrorCode.INTERNAL_ERROR, reason: 'an unexpected error at this end' });
  }

  get stalled(): boolean {
    return !this.#socket.destroyed && (this.#paused || this.#ended);
  }

  /** Address and port of the peer; empty if unknown. A system call, unless read before. */
  get remoteAddress(): string {
    const { remoteAddress: host, remotePort: port } = this.#raw;
    return host === undefined || port === undefined ? '' : hostPort({ host, port });
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
    // Bytes of one iteration leave in one system call. A few small pieces are sent at once, unless they keep coming.
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

  /** @param isLast whether the waiting bytes are written after it */
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
   * Ends this direction. With TLS, writing close_notify would consume the kernel's pending error of a peer that has reset. The next read
   * would then look like an orderly end. So the socket is checked first, by an empty write (see `ask`).
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
   * Checks the peer by an empty write. It fails if the peer is gone (ECONNRESET, EPIPE), which destroys the socket, and has no effect
   * otherwise. Queued writes are polled anyway. After our own end no check is possible; a reset is then noticed once earlier data was
   * consumed.
   */
  ask(): void {
    const [socket, raw] = [this.#socket, this.#raw];
    const isPolled = socket.writableLength + raw.writableLength > 0;
    if (!this.#moved && !isPolled && socket.writable && raw.writable) raw.write(NOTHING);
    this.#moved = false;
  }

  received(chunk: Buffer): void {
    this.#unconsumed += chunk.length;
    this.#read += chunk.length;
    this.#side.onData(chunk);
    if (this.#unconsumed > 0 && !this.#paused) {
      this.#paused = true;
      this.#socket.pause();
      watchStalled(this);
    }
  }
}

/** A socket and its endpoint. Handlers are shared by all sockets, since closures for each would take a tenth of a connection's memory. */
interface OwnedSocket extends Socket {
  [ENDPOINT]?: SocketEndpoint;
}
const ENDPOINT = Symbol('endpoint');

function breakEndpoint(this: OwnedSocket): void {
  this[ENDPOINT]?.broken();
}

const onEnd = bounded('connection/socket-end', endEndpoint, breakEndpoint);
const onDrain = bounded('connection/socket-drain', drainEndpoint, breakEndpoint);
const onError = bounded('connection/socket-error', failEndpoint, breakEndpoint);
const onClose = bounded('connection/socket-close', closeEndpoint, breakEndpoint);
const onData = bounded('connection/socket-data', feedEndpoint, breakEndpoint);

function endEndpoint(this: OwnedSocket): void {
  this[ENDPOINT]?.ended();
}

function drainEndpoint(this: OwnedSocket): void {
  this[ENDPOINT]?.drained();
}

function failEndpoint(this: OwnedSocket, error: Error): void {
  this[ENDPOINT]?.failed(error);
}

function closeEndpoint(this: OwnedSocket): void {
  this[ENDPOINT]?.closed();
}

function feedEndpoint(this: OwnedSocket, chunk: Buffer): void {
  this[ENDPOINT]?.received(chunk);
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

/** Ends a connection so that its peer cannot mistake it for an orderly end. */
export function resetSocket(socket: Socket, raw: Socket): void {
  if (isEnding(socket)) resetAfterEnd(socket, raw);
  else resetNow(socket, raw);
}

function resetNow(socket: Socket, raw: Socket): void {
  if (!raw.destroyed) raw.resetAndDestroy();
  if (socket !== raw) socket.destroy();
}

/** Whether its end is on the way to the kernel, after all other bytes. */
const isEnding = (socket: Socket): boolean =>
  !socket.destroyed && socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;

/**
 * libuv does not reset a socket during shutdown (`uv_tcp_close_reset`, EINVAL). Node.js still treats it as closing, and never closes or
 * reports it. A shutdown ends in the next iteration, except with TLS, whose close_notify may wait for the peer. Then the socket is
 * closed, and the peer, without close_notify, cannot mistake that for an orderly end (RFC 8446 section 6.1).
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
