import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';

import { bounded } from '../../telemetry/boundary.ts';
import { DEFAULT_MAX_FRAME, DEFAULT_WINDOW, Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from './frames.ts';
import { acquireSlab, releaseSlab } from './slabs.ts';
import { Pieces } from '../memory/pieces.ts';
import { Fifo } from '../../work/fifo.ts';

/** The sending half of a stream, as the outbox needs it. */
export interface SendSide {
  readonly id: number;
  readonly queued: number;
  sendWindow: number;
  /** Whether it stands in one of the outbox's lists. */
  listed: boolean;
  /** No `write` will follow: END_STREAM goes with the last of the queue. */
  readonly ending: boolean;
  /** Moves the next `length` queued bytes into `out`. */
  takeInto(out: Buffer, at: number, length: number): void;
  /** After bytes were taken, and outside of all loops: it may write anew, or end. */
  taken(endSent: boolean): void;
}

export interface OutboxEvents {
  /** Some of what waited is under way. */
  onTaken(): void;
  /** Everything has been passed to the socket, and the socket has taken it. */
  onIdle(): void;
  /** It cannot go on. */
  onFault(): void;
}

/**
 * Everything that leaves on the connection. One write to the socket is under way at a time, of at most a slab: so what is sent next is
 * decided as late as can be, and a small answer waits behind one slab and what the kernel holds, never behind a queue.
 *
 * Order within a slab: control frames, then streams with little to send, then the others in turn, with a part kept for them.
 * All that becomes ready in one turn of the event loop leaves in one write, as few TLS records; only a little data leaves at once where
 * nothing is under way. On TLS a write is under way until the turn ends, so that what comes besides in this turn leaves together.
 */
export class Outbox {
  /** The connection's (RFC 9113 section 6.9). */
  sendWindow = DEFAULT_WINDOW;
  /** The peer's SETTINGS_MAX_FRAME_SIZE. */
  maxFrame = DEFAULT_MAX_FRAME;
  readonly #socket: Duplex;
  readonly #onTaken: () => void;
  readonly #onIdle: () => void;
  readonly #onFault: () => void;
  readonly #control = new Pieces();
  #answerBytes = 0;
  readonly #small = new Fifo<SendSide>();
  readonly #bulk = new Fifo<SendSide>();
  /** Of those in the lists. */
  #forgotten = 0;
  readonly #touched: SendSide[] = [];
  readonly #ended: SendSide[] = [];
  #scheduled = false;
  #hurrying = false;
  #writing = false;
  #closed = false;

  constructor(socket: Duplex, { onTaken, onIdle, onFault }: OutboxEvents) {
    this.#socket = socket;
    this.#onTaken = onTaken;
    this.#onIdle = onIdle;
    this.#onFault = onFault;
  }

  /** Nothing waits, and nothing is under way. */
  get idle(): boolean {
    return !this.#writing && !this.#scheduled && !this.#hurrying && this.#control.bytes === 0;
  }

  /** Answers that the peer provoked and that have not left since the control frames last ran out. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** Frames other than DATA that have not left, bytes. */
  get controlBytes(): number {
    return this.#control.bytes;
  }

  /** Memory for those, in bytes, about. */
  get held(): number {
    return this.#control.held;
  }

  answer(frames: Buffer): void {
    this.#answerBytes += frames.length;
    this.control(frames);
  }

  /** Frames that no window holds back; they leave in this order, before all DATA. */
  control(frames: Buffer): void {
    if (this.#closed) return;
    this.#control.push(frames);
    this.#schedule();
  }

  /** The stream has something queued; it is served once its windows allow. */
  ready(stream: SendSide): void {
    if (this.#closed || stream.listed || stream.queued === 0 || stream.sendWindow <= 0) return;
    stream.listed = true;
    if (stream.queued > SMALL) {
      this.#bulk.push(stream);
      this.#schedule();
    } else {
      this.#small.push(stream);
      this.#hurry();
    }
  }

  /** The connection's window has opened. */
  resume(): void {
    if (this.#small.size > 0 || this.#bulk.size > 0) this.#schedule();
  }

  /**
   * What the stream had queued does not leave, and it queues nothing any more. Those that go are taken out of the lists together: a peer may have
   * thousands that wait for its window, and reset them all.
   */
  forget(stream: SendSide): void {
    if (!stream.listed) return;
    stream.listed = false;
    this.#forgotten += 1;
    if (this.#forgotten * 2 <= this.#small.size + this.#bulk.size) return;
    this.#forgotten = 0;
    for (const list of [this.#small, this.#bulk]) list.keep(({ listed }) => listed);
  }

  /** Sends what control frames there are, half-closes the socket, and nothing follows. */
  finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#control.bytes > 0 && !this.#socket.destroyed) this.#socket.write(Buffer.concat(this.#control.takeAll()));
    this.#drop();
    this.#socket.end();
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  #drop(): void {
    this.#control.clear();
    this.#small.clear();
    this.#bulk.clear();
    this.#forgotten = 0;
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing || this.#closed) return;
    this.#scheduled = true;
    setImmediate(this.#flushThisTurn);
  }

  /** With the end of the callback that runs now. */
  #hurry(): void {
    if (this.#hurrying || this.#writing || this.#closed) return;
    this.#hurrying = true;
    process.nextTick(this.#flushNow);
  }

  readonly #flushNow = bounded(
    'session/flush-now',
    () => {
      this.#hurrying = false;
      this.#flush();
    },
    () => this.#onFault(),
  );

  readonly #flushThisTurn = bounded(
    'session/flush-this-turn',
    () => {
      this.#scheduled = false;
      this.#flush();
    },
    () => this.#onFault(),
  );

  readonly #written = bounded(
    'session/written',
    (slab: Buffer) => {
      releaseSlab(slab);
      this.#writing = false;
      this.#flush();
    },
    () => this.#onFault(),
  );

  readonly #flush = (): void => {
    if (this.#closed || this.#writing) return;
    const slab = acquireSlab();
    const length = this.#fill(slab);
    if (length === 0) {
      releaseSlab(slab);
    } else {
      this.#writing = true;
      this.#socket.write(slab.subarray(0, length), () => this.#written(slab));
    }
    this.#notify();
    if (length === 0) this.#onIdle();
    else this.#onTaken();
  };

  #fill(out: Buffer): number {
    let at = this.#takeControl(out);
    const kept = this.#bulk.size > 0 ? KEPT_FOR_BULK : 0;
    at = this.#serve(this.#small, out, at, out.length - kept);
    at = this.#serve(this.#bulk, out, at, out.length);
    return at;
  }

  #takeControl(out: Buffer): number {
    const length = Math.min(this.#control.bytes, out.length);
    if (length > 0) this.#control.takeInto(out, 0, length);
    if (this.#control.bytes === 0) this.#answerBytes = 0;
    return length;
  }

  /** One frame for each stream in turn, until the list is empty or there is no more room. */
  #serve(list: Fifo<SendSide>, out: Buffer, start: number, end: number): number {
    let at = start;
    while (list.size > 0 && this.sendWindow > 0) {
      const room = end - at - FRAME_HEADER_BYTES;
      const stream = list.first;
      if (stream === undefined) break;
      if (stream.sendWindow <= 0 || stream.queued === 0) {
        // Its window was taken back while it stood here, or it has been forgotten.
        list.shift();
        if (!stream.listed) this.#forgotten -= 1;
        stream.listed = false;
        continue;
      }
      const share = list.size === 1 ? room : Math.min(room, QUANTUM);
      const length = Math.min(stream.queued, stream.sendWindow, this.sendWindow, this.maxFrame, share);
      // A sliver of a frame at the end of a slab is not worth its header.
      if (length <= 0 || (length < stream.queued && length === room && length < SLIVER)) break;
      list.shift();
      at = this.#data(stream, out, at, length);
      if (stream.queued > 0 && stream.sendWindow > 0) list.push(stream);
      else stream.listed = false;
    }
    return at;
  }

  #data(stream: SendSide, out: Buffer, at: number, length: number): number {
    const last = stream.ending && stream.queued === length;
    writeFrameHeader(out, at, length, FrameType.DATA, last ? Flag.END_STREAM : 0, stream.id);
    stream.takeInto(out, at + FRAME_HEADER_BYTES, length);
    stream.sendWindow -= length;
    this.sendWindow -= length;
    (last ? this.#ended : this.#touched).push(stream);
    return at + FRAME_HEADER_BYTES + length;
  }

  #notify(): void {
    for (const stream of this.#touched.splice(0)) stream.taken(false);
    for (const stream of this.#ended.splice(0)) stream.taken(true);
  }
}

/** Streams with no more than this queued go first. */
const SMALL = 8_192;
/** With its header, just what a TLS record holds. */
const QUANTUM = 16_384 - FRAME_HEADER_BYTES;
const SLIVER = 1_024;
const KEPT_FOR_BULK = 32_768;
