import { limitTable } from '../../limits/table.ts';
import { FRAME_HEADER_BYTES, FrameType, PREFACE } from '../../http2/frames.ts';
import { HpackDecoder } from '../../http2/hpack/decoder.ts';
import { Pieces } from '../../memory/pieces.ts';
import { Effort } from './effort.ts';
import { ReaderTap, type RequestSink, type Tap, type Taps } from './contract.ts';
import { nameOfMethod } from './request-metrics.ts';
import { pathOfTarget } from './request-path.ts';

/** Maximum number of requests without a response that are kept. Beyond it the oldest are dropped. */
const MOST_STREAMS = limitTable.observedStreams.value;
/**
 * Maximum size of one header block in bytes, and maximum number of its frames. Frames may be empty, and no other limit counts these
 * bytes.
 */
const MOST_BLOCK = 64 * 1024;
const MOST_FRAMES = 32;
/**
 * Size of the HPACK dynamic table. A table larger than the encoder's resolves the same references, so SETTINGS need not be followed. An
 * encoder that announces a larger table is not observed.
 */
const TABLE_BYTES = 16 * 1024;

/** Cost of decoding a block by itself, as a number of fields. */
const BLOCK = 4;

const PADDED = 0x8;
const PRIORITY = 0x20;
const END_HEADERS = 0x4;

/** Parses HTTP/2 with prior knowledge (RFC 9113 section 3.3) in both directions of a connection. */
export class Http2Observer implements Taps {
  readonly fromClient: Tap;
  readonly fromServer: Tap;
  readonly #sink: RequestSink;
  readonly #waiting = new Map<number, { readonly method: string; readonly path: string; readonly since: number }>();
  readonly #readers: readonly FrameReader[];

  constructor(sink: RequestSink) {
    this.#sink = sink;
    const onReset = (id: number): void => void this.#waiting.delete(id);
    const onRequest: FrameEvents['onFields'] = (id, method, target) => this.#request(id, method, target);
    const fields = sink.wantsPath === true ? ([':method', ':path'] as const) : ([':method'] as const);
    const client = new FrameReader(PREFACE.length, fields, { onFields: onRequest, onReset });
    const server = new FrameReader(0, [':status'], { onFields: (id, status) => this.#response(id, status), onReset });
    this.#readers = [client, server];
    this.fromClient = new ReaderTap(client, this, true);
    this.fromServer = new ReaderTap(server, this, false);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get hasPaths(): boolean {
    return this.#sink.wantsPath === true;
  }

  #request(id: number, method: string, target: string): void {
    if (this.#waiting.size >= MOST_STREAMS) for (const oldest of this.#waiting.keys().take(1)) this.#waiting.delete(oldest);
    this.#waiting.set(id, { method: nameOfMethod(method), path: pathOfTarget(target), since: performance.now() });
  }

  #response(id: number, said: string): void {
    const status = STATUS.test(said) ? Number(said) : 0;
    if (status < 200) return;
    const request = this.#waiting.get(id);
    if (request === undefined) return;
    this.#waiting.delete(id);
    this.#sink.onRequest(request.method, status, performance.now() - request.since, request.path);
  }

  stop(): void {
    for (const reader of this.#readers) reader.stop();
    this.#waiting.clear();
  }
}

interface FrameEvents {
  /** Called for each header block with the first field (trailers have none), with the last values; `second` is empty if absent. */
  onFields(id: number, first: string, second: string): void;
  onReset(id: number): void;
}

const EMPTY = Buffer.alloc(0);
const STATUS = /^\d{3}$/;

/** Parses frame headers and decodes header blocks. It skips everything else by counting. */
class FrameReader {
  readonly #events: FrameEvents;
  readonly #first: string;
  readonly #second: string | undefined;
  readonly #header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  #decoder: HpackDecoder | undefined = new HpackDecoder(TABLE_BYTES);
  #headerLength = 0;
  /** Number of bytes to skip: first the preface, then frames that are not parsed. */
  #skip: number;
  /** Size of the current frame if it is parsed, and the bytes received of it, possibly one by one. */
  #expected = 0;
  readonly #parts = new Pieces();
  #type = 0;
  #flags = 0;
  #id = 0;
  /** Fragments of the current header block. */
  #block: Buffer[] = [];
  #blockLength = 0;
  readonly #effort = new Effort();

  /** @param fields names of the fields to report */
  constructor(skip: number, [first, second]: readonly [string, string?], events: FrameEvents) {
    this.#skip = skip;
    this.#first = first;
    this.#second = second;
    this.#events = events;
  }

  /** Approximate memory in bytes. */
  get held(): number {
    return this.#parts.held + this.#blockLength + (this.#decoder?.held ?? 0);
  }

  stop(): void {
    this.#decoder = undefined;
    this.#parts.clear();
    this.#block = [];
    this.#blockLength = 0;
  }

  /** @returns false if the bytes cannot be parsed */
  read(chunk: Buffer): boolean {
    let at = 0;
    this.#effort.begin();
    while (at < chunk.length) {
      if (this.#decoder === undefined) return true;
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        this.#skip -= skipped;
        at += skipped;
      } else if (this.#expected > 0) {
        const taken = Math.min(this.#expected - this.#parts.bytes, chunk.length - at);
        const part = chunk.subarray(at, at + taken);
        at += taken;
        if (taken === this.#expected) {
          if (!this.#frame(part)) return false;
          continue;
        }
        // Copied, because the connection reuses the bytes.
        this.#parts.push(Buffer.from(part));
        if (this.#parts.bytes === this.#expected && !this.#frame(Buffer.concat(this.#parts.takeAll()))) return false;
      } else {
        const copied = chunk.copy(this.#header, this.#headerLength, at, at + FRAME_HEADER_BYTES - this.#headerLength);
        this.#headerLength += copied;
        at += copied;
        if (this.#headerLength === FRAME_HEADER_BYTES && !this.#frameHeader()) return false;
      }
    }
    return true;
  }

  /** Parses a frame header (RFC 9113 section 4.1). */
  #frameHeader(): boolean {
    this.#headerLength = 0;
    const length = this.#header.readUIntBE(0, 3);
    this.#type = this.#header[3] ?? 0;
    this.#flags = this.#header[4] ?? 0;
    this.#id = this.#header.readUInt32BE(5) & 0x7fff_ffff;
    const isBlock = this.#type === FrameType.HEADERS || this.#type === FrameType.CONTINUATION || this.#type === FrameType.PUSH_PROMISE;
    if (!isBlock) {
      if (this.#type === FrameType.RST_STREAM) this.#events.onReset(this.#id);
      this.#skip = length;
      return true;
    }
    if (length + this.#blockLength > MOST_BLOCK || this.#block.length >= MOST_FRAMES) return false;
    this.#expected = length;
    // An empty frame is complete already.
    return length > 0 || this.#frame(EMPTY);
  }

  /** @param payload valid during the call only */
  #frame(payload: Buffer): boolean {
    this.#expected = 0;
    const fragment = this.#type === FrameType.CONTINUATION ? payload : this.#fragment(payload);
    if (fragment === undefined) return false;
    const isLast = (this.#flags & END_HEADERS) !== 0;
    if (isLast && this.#block.length === 0) return this.#blockEnd(fragment);
    this.#block.push(Buffer.from(fragment));
    this.#blockLength += fragment.length;
    if (!isLast) return true;
    const block = Buffer.concat(this.#block, this.#blockLength);
    this.#block = [];
    this.#blockLength = 0;
    return this.#blockEnd(block);
  }

  /** Removes padding, priority and the promised stream id (RFC 9113 sections 6.2 and 6.6). */
  #fragment(payload: Buffer): Buffer | undefined {
    const isPadded = (this.#flags & PADDED) !== 0;
    const padding = isPadded ? (payload[0] ?? 0) : 0;
    const isHeaders = this.#type === FrameType.HEADERS;
    const before = (isPadded ? 1 : 0) + (isHeaders ? ((this.#flags & PRIORITY) === 0 ? 0 : 5) : 4);
    if (before + padding > payload.length) return undefined;
    // The block of a PUSH_PROMISE is decoded to keep the dynamic table in sync. Its stream is not counted.
    if (!isHeaders) this.#id = 0;
    return payload.subarray(before, payload.length - padding);
  }

  #blockEnd(block: Buffer): boolean {
    let [found, other]: [string | undefined, string] = [undefined, ''];
    if (!this.#effort.take(BLOCK)) return false;
    // A block can name one long table entry thousands of times, so the value is only processed once the block ends.
    this.#decoder?.decode(block, (name, value) => {
      // The same exception as for a malformed block; it ends the observer as well.
      if (!this.#effort.take(1)) throw new RangeError('too many fields at once');
      if (name === this.#first) found = value;
      else if (name === this.#second) other = value;
    });
    if (this.#id !== 0 && found !== undefined) this.#events.onFields(this.#id, found, other);
    return true;
  }
}
