import type { ResponseHead, StreamHandler, StreamReset } from '../http2/contract.ts';
import { ErrorCode } from '../http2/errors.ts';
import { copyOf, PooledChunks } from '../memory/buffer-pool.ts';
import { COST } from '../memory/costs.ts';
import type { MemoryUser } from '../memory/memory-users.ts';
import { Pieces, SHORT } from '../memory/pieces.ts';
import type { EndReason } from './connection-end.ts';
import type { Tap } from './observers/contract.ts';
import { countBytes, TO_CLIENT, TO_SERVER, type Figures } from './records/figures.ts';

/** A destination of bytes: a `Stream`, or a socket (see `SocketEndpoint`). */
export interface HalfEndpoint {
  /** Bytes written and still held. Earlier bytes are not referenced any more. */
  readonly queued: number;
  /** Memory in bytes for those, and what the endpoint takes beyond an ordinary one. */
  readonly held: number;
  /** @returns false if the caller should wait for `onDrain` */
  write(chunk: Buffer): boolean;
  end(): void;
  reset(code: number): void;
  consumed(bytes: number): void;
}

/** Bytes in one direction, over all connections of a key. */
export interface ByteCount {
  bytes: number;
}

/** Observer of a half before it is joined to the other. */
export interface HalfObserver {
  onResponse(head: ResponseHead): void;
  onGone(reason: StreamReset): void;
}

/**
 * One half of a connection: takes the events of its own endpoint, and applies them to the other half's endpoint. Two joined halves are a
 * connection.
 *
 * Invariants: an endpoint gets `consumed` for a byte only when the other endpoint took it or is gone. After `reset`, `gone` is set and the
 * endpoint is not called any more. Data from before the join is held, at most as much as the endpoint's window allows, and reaches the
 * other endpoint first.
 */
export class ConnectionHalf implements StreamHandler, MemoryUser {
  readonly kind = 'connection';
  /** Owner whose fair share of memory the connection counts against; only on the client's half. */
  owner = '';
  /** Routing key within the share of an owner that is a peer. */
  key: string | undefined;
  end: HalfEndpoint | undefined;
  awaiting: HalfObserver | undefined;
  tap: Tap | undefined;
  /** Whether the own endpoint has ended its direction. */
  ended = false;
  gone = false;
  /** A socket half is open until the socket closes; a stream half closes as soon as both halves have ended. */
  closed = true;
  /** Sites and routers that the connection passes through; only on the client's half. */
  sitesOnRoute: readonly string[] = NONE;
  #peer: ConnectionHalf | undefined;
  #count: ByteCount | undefined;
  /** Figures of this connection, if it is recorded, and the index of this direction's. */
  #page: Float64Array | undefined;
  #at = 0;
  #over: Over | undefined;
  #held: Pieces | undefined;
  /** Buffers of our data that the other endpoint holds. */
  #chunks: PooledChunks | undefined;
  /** Bytes whose `consumed` waits for the other endpoint to drain. */
  #owed = 0;

  /** Joins two halves. `over` is called once, when nothing of the connection is left. */
  static join(client: ConnectionHalf, server: ConnectionHalf, counts: Counts, over: Over, figures?: Figures): void {
    if (figures !== undefined) {
      client.#record(figures, TO_SERVER);
      server.#record(figures, TO_CLIENT);
    }
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
    if (this.#page !== undefined) countBytes(this.#page, this.#at, chunk.length);
    if (this.tap !== undefined) this.tap.onBytes(chunk);
    if (to.write(this.#copy(chunk))) this.end?.consumed(chunk.length);
    else this.#owed += chunk.length;
  }

  /** Most connections have short chunks only, and need no `PooledChunks`. It may begin with any chunk. */
  #copy(chunk: Buffer): Buffer {
    if (this.#chunks === undefined && chunk.length <= SHORT) return copyOf(chunk);
    this.#chunks ??= new PooledChunks(() => this.#peer?.end?.queued);
    return this.#chunks.copy(chunk);
  }

  onEnd(): void {
    if (this.ended || this.gone) return;
    this.ended = true;
    if (this.#peer === undefined || this.#held !== undefined) return;
    this.#passEnd(this.#peer);
  }

  /** Our endpoint has capacity again, so the other half's bytes count as consumed. */
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

  /** Called when the socket closes after both directions ended. */
  onClosed(): void {
    this.closed = true;
    this.#peer?.giveBack();
    this.#finishIfOver(undefined);
  }

  /** Resets our own endpoint, if it still exists. An abnormal end stays abnormal, even with NO_ERROR as its code. */
  abandon(code: number): void {
    if (this.gone) return;
    this.gone = true;
    this.closed = true;
    this.#held = undefined;
    this.end?.reset(code === ErrorCode.NO_ERROR ? ErrorCode.CANCEL : code);
  }

  /** Ends the whole connection at once by resetting both endpoints. */
  sever(reason: EndReason): void {
    if (this.gone) return;
    this.abandon(reason.code);
    if (this.#peer === undefined) this.awaiting?.onGone(reason);
    this.#peer?.abandon(reason.code);
    this.#finishIfOver(reason);
  }

  /** Detaches the half: further data is dropped, so that the endpoint's window stays open until its peer has ended. */
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

  /** Memory of the whole connection, with both halves: see `MemoryUser`. */
  get held(): number {
    const peer = this.#peer;
    return COST.connection + this.#waiting() + (peer === undefined ? 0 : peer.#waiting());
  }

  evict(reason: string): void {
    if (this.gone) return;
    const why: EndReason = { code: ErrorCode.ENHANCE_YOUR_CALM, reason, how: 'evicted' };
    this.end?.reset(why.code);
    this.onReset(why);
  }

  #waiting(): number {
    return (this.#held?.held ?? 0) + (this.gone ? 0 : (this.end?.held ?? 0)) + (this.tap?.held ?? 0);
  }

  #record({ page, at }: Figures, direction: number): void {
    this.#page = page;
    this.#at = at + direction;
  }

  #join(peer: ConnectionHalf, count: ByteCount, over: Over): void {
    this.awaiting = undefined;
    this.#peer = peer;
    this.#count = count;
    this.#over = over;
    // Keeps the order while earlier bytes are passed on.
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

  #finishIfOver(reason: EndReason | undefined): void {
    const over = this.#over;
    const peer = this.#peer;
    if (over === undefined || peer === undefined) return;
    if (reason === undefined && !(this.ended && peer.ended && this.closed && peer.closed)) return;
    this.#over = undefined;
    peer.#over = undefined;
    this.tap = undefined;
    peer.tap = undefined;
    // Another connection may get the figures.
    this.#page = undefined;
    peer.#page = undefined;
    this.#chunks?.forget();
    peer.#chunks?.forget();
    over(reason, this);
  }
}

/** @param reason undefined if the connection ended in order @param from the half that ended it */
type Over = (reason: EndReason | undefined, from: ConnectionHalf) => void;

export interface Counts {
  readonly toServer: ByteCount;
  readonly toClient: ByteCount;
}

const NONE: readonly string[] = [];
