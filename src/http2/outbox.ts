import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';

import { bounded } from '../telemetry/boundary.ts';
import { DEFAULT_MAX_FRAME, DEFAULT_WINDOW, Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from './frames.ts';
import { acquireSlab, releaseSlab } from './slabs.ts';
import { Pieces } from '../memory/pieces.ts';
import { Fifo } from '../work/fifo.ts';

/** Sending half of a stream, as the outbox needs it. */
export interface SendSide {
  readonly id: number;
  readonly queued: number;
  sendWindow: number;
  /** Whether the stream is in one of the outbox's lists. */
  listed: boolean;
  /** Whether no `write` follows: END_STREAM leaves with the last queued bytes. */
  readonly ending: boolean;
  /** Moves the next `length` queued bytes into `out`. */
  takeInto(out: Buffer, at: number, length: number): void;
  /** Called after bytes were taken, outside of all loops: the stream may write again, or end. */
  taken(endSent: boolean): void;
}

export interface OutboxEvents {
  /** Some queued output has been written to the socket. */
  onTaken(): void;
  /** The socket has taken all output. */
  onIdle(): void;
  /** The outbox cannot continue. */
  onFault(): void;
}

/**
 * All output of the connection. At most one write to the socket is in progress, of at most one slab, so the next output is chosen as late
 * as possible. A small response waits behind one slab and the kernel's buffer, never behind a queue.
 *
 * Order within a slab: control frames, streams with little to send, then the others round-robin, with a part reserved for them.
 * All output of an event-loop iteration leaves in one write, hence in few TLS records. Only a little data leaves at once if no write is in
 * progress. On TLS a write stays in progress until the iteration ends, so that later output of the iteration leaves together.
 */
export class Outbox {
  /** Send window of the connection (RFC 9113 section 6.9). */
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
  /** Number of entries in the lists whose stream was forgotten. */
  #forgotten = 0;
  readonly #touched = new Fifo<SendSide>();
  readonly #ended = new Fifo<SendSide>();
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

  /** Whether nothing is queued and no write is in progress. */
  get idle(): boolean {
    return !this.#writing && !this.#scheduled && !this.#hurrying && this.#control.bytes === 0;
  }

  /** Bytes of replies that the peer provoked, and that have not left since the control queue was last empty. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** Bytes of queued frames other than DATA. */
  get controlBytes(): number {
    return this.#control.bytes;
  }

  /** Approximate memory for those, in bytes. */
  get held(): number {
    return this.#control.held;
  }

  answer(frames: Buffer): void {
    this.#answerBytes += frames.length;
    this.control(frames);
  }

  /** Queues frames that are not subject to flow control. They leave in this order, before all DATA. */
  control(frames: Buffer): void {
    if (this.#closed) return;
    this.#control.push(frames);
    this.#schedule();
  }

  /** Lists a stream with queued bytes; it is served when its windows allow. */
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

  /** Continues after the connection's window opened. */
  resume(): void {
    if (this.#small.size > 0 || this.#bulk.size > 0) this.#schedule();
  }

  /**
   * Drops what the stream has queued; it queues nothing any more. Forgotten streams leave the lists in batches: a peer may reset thousands
   * that wait for its window.
   */
  forget(stream: SendSide): void {
    if (!stream.listed) return;
    stream.listed = false;
    this.#forgotten += 1;
    if (this.#forgotten * 2 <= this.#small.size + this.#bulk.size) return;
    this.#forgotten = 0;
    for (const list of [this.#small, this.#bulk]) list.keep(({ listed }) => listed);
  }

  /** Sends the queued control frames and half-closes the socket. Nothing follows. */
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

  /** Flushes at the end of the current callback. */
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

  /** Writes one frame for each stream, round-robin, until the list is empty or the slab is full. */
  #serve(list: Fifo<SendSide>, out: Buffer, start: number, end: number): number {
    let at = start;
    while (list.size > 0 && this.sendWindow > 0) {
      const room = end - at - FRAME_HEADER_BYTES;
      const stream = list.first;
      if (stream === undefined) break;
      if (stream.sendWindow <= 0 || stream.queued === 0) {
        // Its window shrank while it was listed, or the stream was forgotten.
        list.shift();
        if (!stream.listed) this.#forgotten -= 1;
        stream.listed = false;
        continue;
      }
      const share = list.size === 1 ? room : Math.min(room, QUANTUM);
      const length = Math.min(stream.queued, stream.sendWindow, this.sendWindow, this.maxFrame, share);
      // A tiny frame at the end of a slab is not worth its header.
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
    for (let left = this.#touched.size; left > 0; left -= 1) this.#touched.shift()?.taken(false);
    for (let left = this.#ended.size; left > 0; left -= 1) this.#ended.shift()?.taken(true);
  }
}

/** Streams with at most this many bytes queued go first. */
const SMALL = 8_192;
/** With its header, exactly the payload of a TLS record. */
const QUANTUM = 16_384 - FRAME_HEADER_BYTES;
const SLIVER = 1_024;
const KEPT_FOR_BULK = 32_768;
