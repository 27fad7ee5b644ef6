import { Effort } from './effort.ts';
import { pathOfTarget } from './request-path.ts';

/** How a body's end is found (RFC 9112 section 6.3). */
export type Framing =
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  /** Neither a length nor chunked. */
  | { readonly kind: 'unsaid' }
  /** Everything up to the end of the connection is body. */
  | { readonly kind: 'rest' };

/** Receives each head. Both methods return how the body is framed, or undefined to read no more. */
export interface HeadSink {
  /** `path` is empty unless it is read. */
  onRequestHead(framing: Framing, method: string, path: string): Framing | undefined;
  onResponseHead(framing: Framing, status: number): Framing | undefined;
}

const State = { start: 0, fields: 1, body: 2, chunkSize: 3, chunkData: 4, trailers: 5, rest: 6, off: 7 } as const;
type State = (typeof State)[keyof typeof State];

/** Number of bytes kept of a line that is split between chunks. Framing fields are shorter, and longer lines do not matter. */
const KEPT = 256;
const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;

const CHUNKED: Framing = { kind: 'chunked' };
const UNSAID: Framing = { kind: 'unsaid' };
const NO_BODY: Framing = { kind: 'length', bytes: 0 };

/**
 * Parses the messages of one direction: start lines and framing fields. It skips everything else by counting. Chunks may be split at any
 * byte. In the common case, a head in one chunk, it allocates nothing.
 */
export class HeadReader {
  readonly #isRequest: boolean;
  readonly #sink: HeadSink;
  #state: State = State.start;
  /** Number of bytes left of the body, or of a chunk with its line end. */
  #left = 0;
  #method = '';
  readonly #readsPath: boolean;
  #path = '';
  #status = 0;
  /** Content-Length; -1 if absent. */
  #length = -1;
  #chunked = false;
  #encoded = false;
  /** Beginning of a line that is not complete yet. */
  #cut: Buffer | undefined;
  #cutLength = 0;
  readonly #effort = new Effort();

  constructor(kind: 'request' | 'response', sink: HeadSink, readsPath = false) {
    this.#isRequest = kind === 'request';
    this.#sink = sink;
    this.#readsPath = readsPath;
  }

  /** Approximate memory in bytes. */
  get held(): number {
    return this.#cut === undefined ? 0 : KEPT;
  }

  stop(): void {
    this.#state = State.off;
    this.#cut = undefined;
  }

  /** @returns false if the bytes cannot be parsed */
  read(chunk: Buffer): boolean {
    let at = 0;
    this.#effort.begin();
    while (at < chunk.length) {
      if (this.#state >= State.rest) return true;
      if (this.#state === State.body || this.#state === State.chunkData) {
        const taken = Math.min(this.#left, chunk.length - at);
        at += taken;
        this.#left -= taken;
        if (this.#left === 0) this.#state = this.#state === State.body ? State.start : State.chunkSize;
        continue;
      }
      let end = at;
      while (end < chunk.length && chunk[end] !== LF) end += 1;
      if (end === chunk.length) {
        this.#keep(chunk, at, end);
        return true;
      }
      if (!this.#wholeLine(chunk, at, end)) return false;
      at = end + 1;
    }
    return true;
  }

  #wholeLine(chunk: Buffer, start: number, end: number): boolean {
    if (this.#cutLength === 0) return this.#line(chunk, start, chunk[end - 1] === CR && end > start ? end - 1 : end);
    this.#keep(chunk, start, end);
    const line = this.#cut;
    const length = this.#cutLength;
    this.#cutLength = 0;
    this.#cut = undefined;
    if (line === undefined) return false;
    return this.#line(line, 0, line[length - 1] === CR ? length - 1 : length);
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    this.#cut ??= Buffer.allocUnsafeSlow(KEPT);
    this.#cutLength += chunk.copy(this.#cut, this.#cutLength, start, Math.min(end, start + KEPT - this.#cutLength));
  }

  #line(bytes: Buffer, start: number, end: number): boolean {
    // Chunk-size lines take less work.
    if (this.#state !== State.chunkSize && !this.#effort.take(1)) return false;
    switch (this.#state) {
      case State.start:
        // Empty lines before a request are ignored (RFC 9112 section 2.2).
        if (start === end) return this.#isRequest;
        this.#state = State.fields;
        this.#length = -1;
        this.#chunked = false;
        this.#encoded = false;
        return this.#isRequest ? this.#requestLine(bytes, start, end) : this.#statusLine(bytes, start, end);
      case State.fields:
        return start === end ? this.#headEnd() : this.#field(bytes, start, end);
      case State.chunkSize:
        return this.#chunkLine(bytes, start, end);
      case State.trailers:
        if (start === end) this.#state = State.start;
        return true;
      default:
        return false;
    }
  }

  #requestLine(bytes: Buffer, start: number, end: number): boolean {
    const method = methodAt(bytes, start, end);
    if (method === undefined) return false;
    this.#method = method;
    if (this.#readsPath) this.#path = pathOfTarget(targetAt(bytes, start, Math.min(end, start + KEPT)));
    // The version is missing if the request target was cut off.
    return end - start >= KEPT - 1 || isVersion(bytes, end - 8);
  }

  #statusLine(bytes: Buffer, start: number, end: number): boolean {
    if (end - start < 12 || !isVersion(bytes, start) || bytes[start + 8] !== SPACE) return false;
    this.#status = decimal(bytes, start + 9, start + 12);
    return this.#status >= 100;
  }

  #field(bytes: Buffer, start: number, end: number): boolean {
    // Most field names differ in their first letter from the two needed here.
    const first = (bytes[start] ?? 0) | 0x20;
    if (first === 0x63 /* c */ && isName(bytes, start, end, CONTENT_LENGTH)) {
      const length = decimal(bytes, ...trimmed(bytes, start + CONTENT_LENGTH.length + 1, end));
      if (length < 0 || (this.#length !== -1 && this.#length !== length)) return false;
      this.#length = length;
    } else if (first === 0x74 /* t */ && isName(bytes, start, end, TRANSFER_ENCODING)) {
      const value = bytes
        .toString('latin1', start + TRANSFER_ENCODING.length + 1, end)
        .trim()
        .toLowerCase();
      this.#encoded = true;
      // Only the last coding can be chunked (RFC 9112 section 6.1).
      this.#chunked = /(^|[\s,])chunked$/.test(value);
    }
    return true;
  }

  #headEnd(): boolean {
    const said: Framing = this.#chunked ? CHUNKED : this.#encoded || this.#length === -1 ? UNSAID : this.#lengthFraming();
    const framing = this.#isRequest
      ? this.#sink.onRequestHead(said, this.#method, this.#path)
      : this.#sink.onResponseHead(said, this.#status);
    if (framing === undefined) return false;
    switch (framing.kind) {
      case 'length':
        this.#left = framing.bytes;
        this.#state = framing.bytes === 0 ? State.start : State.body;
        return true;
      case 'chunked':
        this.#state = State.chunkSize;
        return true;
      default:
        this.#state = State.rest;
        return true;
    }
  }

  #lengthFraming(): Framing {
    return this.#length === 0 ? NO_BODY : { kind: 'length', bytes: this.#length };
  }

  /** Parses `chunk-size [ chunk-ext ]` (RFC 9112 section 7.1). */
  #chunkLine(bytes: Buffer, start: number, end: number): boolean {
    let size = 0;
    let digits = 0;
    for (let at = start; at < end; at += 1) {
      const digit = hexDigit(bytes[at] ?? 0);
      if (digit < 0) break;
      size = size * 16 + digit;
      digits += 1;
    }
    if (digits === 0 || digits > 13) return false;
    this.#left = size + 2;
    this.#state = size === 0 ? State.trailers : State.chunkData;
    return true;
  }
}

const CONTENT_LENGTH = 'content-length';
const TRANSFER_ENCODING = 'transfer-encoding';
const METHODS = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS', 'CONNECT', 'TRACE'] as const;

/** Returns a known method, `other` for any other token of letters, or undefined if there is no token. */
function methodAt(bytes: Buffer, start: number, end: number): string | undefined {
  for (const method of METHODS) if (bytes[start] === method.charCodeAt(0) && startsWith(bytes, start, end, method)) return method;
  let at = start;
  while (at < end && at - start < 32 && isLetter(bytes[at] ?? 0)) at += 1;
  return at > start && bytes[at] === SPACE ? 'other' : undefined;
}

/** Target of a request line: the text between its first two spaces. */
function targetAt(bytes: Buffer, start: number, end: number): string {
  const [, target = ''] = bytes.toString('latin1', start, end).split(' ', 2);
  return target;
}

function startsWith(bytes: Buffer, start: number, end: number, word: string): boolean {
  if (start + word.length >= end || bytes[start + word.length] !== SPACE) return false;
  for (let index = 1; index < word.length; index += 1) if (bytes[start + index] !== word.charCodeAt(index)) return false;
  return true;
}

/** Whether the field name matches, in any case, followed by a colon. */
function isName(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (start + name.length >= end || bytes[start + name.length] !== COLON) return false;
  for (let index = 1; index < name.length; index += 1) if (((bytes[start + index] ?? 0) | 0x20) !== name.charCodeAt(index)) return false;
  return true;
}

/** Whether the bytes are `HTTP/1.` and a digit. */
function isVersion(bytes: Buffer, at: number): boolean {
  if (at < 0) return false;
  for (let index = 0; index < 7; index += 1) if (bytes[at + index] !== 'HTTP/1.'.charCodeAt(index)) return false;
  return isDigit(bytes[at + 7] ?? 0);
}

function trimmed(bytes: Buffer, start: number, end: number): [number, number] {
  let from = start;
  let to = end;
  while (from < to && isBlank(bytes[from] ?? 0)) from += 1;
  while (to > from && isBlank(bytes[to - 1] ?? 0)) to -= 1;
  return [from, to];
}

/** Parses a decimal number. @returns -1 if it is not a number, or too large */
function decimal(bytes: Buffer, start: number, end: number): number {
  if (start >= end || end - start > 15) return -1;
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (!isDigit(byte)) return -1;
    value = value * 10 + byte - 48;
  }
  return value;
}

const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57;
const isBlank = (byte: number): boolean => byte === SPACE || byte === 9;
const isLetter = (byte: number): boolean => ((byte | 0x20) >= 97 && (byte | 0x20) <= 122) || byte === 45 || byte === 95;

function hexDigit(byte: number): number {
  if (isDigit(byte)) return byte - 48;
  const lower = byte | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
