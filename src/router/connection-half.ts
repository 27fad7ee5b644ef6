import type { ResponseHead, StreamHandler, StreamReset } from './http2/contract.ts';
import { ErrorCode } from './http2/errors.ts';
import { copyOf, PooledChunks } from './memory/buffer-pool.ts';
import { COST } from './memory/costs.ts';
import type { MemoryUser } from './memory/memory-users.ts';
import { Pieces } from './memory/pieces.ts';
import type { Tap } from './observers/contract.ts';

/** What bytes can be given to: a `Stream`, or a socket (see `SocketEndpoint`). */
export interface HalfEndpoint {
  /** Bytes that were written and are still held; what was written before those is not referred to any more. */
  readonly queued: number;
  /** Memory for those, and what the end takes beyond others, in bytes. */
  readonly held: number;
  /** @returns false where the caller should wait for `onDrain` */
  write(chunk: Buffer): boolean;
  end(): void;
  reset(code: number): void;
  consumed(bytes: number): void;
}

/** Bytes that went one way, of all connections of a key. */
export interface ByteCount {
  bytes: number;
}

/** Who hears of a side before it is joined to another. */
export interface HalfObserver {
  onResponse(head: ResponseHead): void;
  onGone(reason: StreamReset): void;
}

/**
 * One side of a connection: hears what its own end says and tells it to the other side's end. Two of them, joined, are the
 * connection.
 *
 * Invariants: an end gets `consumed` for each byte only when the other end took it or is gone; after `reset`, `gone` is set
 * and nothing more is said to the end; what came before the sides were joined is held (at most what the end's window allows)
 * and is the first that the other end gets.
 */
export class ConnectionHalf implements StreamHandler, MemoryUser {
  readonly kind = 'connection';
  /** Whose share of memory the connection is part of. Only of a client's side. */
  owner = '';
  /** Of a peer's, which part of its share. */
  key: string | undefined;
  end: HalfEndpoint | undefined;
  awaiting: HalfObserver | undefined;
  tap: Tap | undefined;
  /** The peer said that nothing more comes from here. */
  ended = false;
  gone = false;
  /** Socket sides are open until the socket says so; a stream's are as soon as both sides have ended. */
  closed = true;
  /** Sites that the connection comes through, and routers that it goes through. Only of a client's side. */
  sitesOnRoute: readonly string[] = NONE;
  #peer: ConnectionHalf | undefined;
  #count: ByteCount | undefined;
  #over: ((reason: StreamReset | undefined) => void) | undefined;
  #held: Pieces | undefined;
  /** What the other end has of ours. */
  #chunks: PooledChunks | undefined;
  /** Bytes that the other end wants no more of until it has drained. */
  #owed = 0;

  /** `over` is called once, when nothing of the connection is left; with a reason where it did not end in order. */
  static join(client: ConnectionHalf, server: ConnectionHalf, counts: Counts, over: (reason: StreamReset | undefined) => void): void {
    client.#join(server, counts.toServer, over);
    server.#join(client, counts.toClient, over);
    client.#passHeld();
    server.#passHeld();
  }

  onResponse(head: ResponseHead): void {
    this.awaiting?.onResponse(head);
  }

  /** The chunk is valid during the call only. */
  onData(chunk: Buffer): void {
    const to = this.#peer?.end;
    if (to === undefined || this.#held !== undefined) {
      this.#hold(chunk);
      return;
    }
    if (this.#count !== undefined) this.#count.bytes += chunk.length;
    if (this.tap !== undefined) this.tap.onBytes(chunk);
    this.#chunks ??= new PooledChunks(() => this.#peer?.end?.queued);
    if (to.write(this.#chunks.copy(chunk))) this.end?.consumed(chunk.length);
    else this.#owed += chunk.length;
  }

  onEnd(): void {
    if (this.ended || this.gone) return;
    this.ended = true;
    if (this.#peer === undefined || this.#held !== undefined) return;
    this.#passEnd(this.#peer);
  }

  /** Our end has room again: what the other end brought meanwhile is dealt with. */
  onDrain(): void {
    this.#peer?.giveBack();
  }

  onReset(reason: StreamReset): void {
    if (this.gone) return;
    this.gone = true;
    this.closed = true;
    this.#held = undefined;
    const peer = this.#peer;
    if (peer === undefined) {
      this.awaiting?.onGone(reason);
      return;
    }
    peer.abandon(reason.code);
    this.#finishIfOver(reason);
  }

  /** The socket is closed after both directions ended. */
  onClosed(): void {
    this.closed = true;
    this.#peer?.giveBack();
    this.#finishIfOver(undefined);
  }

  /** Resets our own end, if it is still there. What was no orderly end stays none, also where its code says that nothing was wrong. */
  abandon(code: number): void {
    if (this.gone) return;
    this.gone = true;
    this.closed = true;
    this.#held = undefined;
    this.end?.reset(code === ErrorCode.NO_ERROR ? ErrorCode.CANCEL : code);
  }

  /** Ends the whole connection at once, both ends by a reset. */
  sever(reason: StreamReset): void {
    if (this.gone) return;
    this.abandon(reason.code);
    if (this.#peer === undefined) this.awaiting?.onGone(reason);
    this.#peer?.abandon(reason.code);
    this.#finishIfOver(reason);
  }

  /** Takes no part any more: what still comes is dropped, so that the end's window stays open until its peer has ended. */
  drop(): void {
    const bytes = this.#held?.bytes ?? 0;
    this.#held = undefined;
    const { end } = this;
    this.#peer = new ConnectionHalf();
    this.#peer.end = { queued: 0, held: 0, write: () => true, end() {}, reset() {}, consumed() {} };
    if (bytes > 0) end?.consumed(bytes);
  }

  giveBack(): void {
    if (this.#owed === 0 || this.gone) return;
    const owed = this.#owed;
    this.#owed = 0;
    this.end?.consumed(owed);
  }

  /** Of the whole connection, both its sides: see `Holder`. */
  get held(): number {
    const peer = this.#peer;
    return COST.connection + this.#waiting() + (peer === undefined ? 0 : peer.#waiting());
  }

  letGo(reason: string): void {
    if (this.gone) return;
    const why = { code: ErrorCode.ENHANCE_YOUR_CALM, reason };
    this.end?.reset(why.code);
    this.onReset(why);
  }

  #waiting(): number {
    return (this.#held?.held ?? 0) + (this.gone ? 0 : (this.end?.held ?? 0)) + (this.tap?.held ?? 0);
  }

  #join(peer: ConnectionHalf, count: ByteCount, over: (reason: StreamReset | undefined) => void): void {
    this.awaiting = undefined;
    this.#peer = peer;
    this.#count = count;
    this.#over = over;
    // Keeps the order while the bytes that came first are passed on.
    this.#held ??= new Pieces();
  }

  #hold(chunk: Buffer): void {
    if (this.gone) return;
    this.#held ??= new Pieces();
    this.#held.push(copyOf(chunk));
  }

  #passHeld(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) for (const chunk of held.takeAll()) this.onData(chunk);
    if (this.ended && !this.gone && this.#peer !== undefined) this.#passEnd(this.#peer);
  }

  #passEnd(peer: ConnectionHalf): void {
    if (!peer.gone) peer.end?.end();
    this.#finishIfOver(undefined);
  }

  #finishIfOver(reason: StreamReset | undefined): void {
    const over = this.#over;
    const peer = this.#peer;
    if (over === undefined || peer === undefined) return;
    if (reason === undefined && !(this.ended && peer.ended && this.closed && peer.closed)) return;
    this.#over = undefined;
    peer.#over = undefined;
    this.tap = undefined;
    peer.tap = undefined;
    this.#chunks?.forget();
    peer.#chunks?.forget();
    over(reason);
  }
}

export interface Counts {
  readonly toServer: ByteCount;
  readonly toClient: ByteCount;
}

const NONE: readonly string[] = [];
