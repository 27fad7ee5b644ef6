import type { Random } from '../../bench/routing/random.ts';
import { FrameType, PREFACE, writeFrameHeader } from '../../src/http2/frames.ts';
import { encodeHeaderBlock } from '../../src/http2/hpack/encoder.ts';
import { mutate } from './mutate.ts';

type Lines = readonly (readonly [string, string])[];

/** Role of the end that sends the noise. */
export type Role = 'client' | 'server';

export function frame(type: number, flags: number, streamId: number, payload: Buffer = EMPTY, length = payload.length): Buffer {
  const bytes = Buffer.allocUnsafe(9 + payload.length);
  writeFrameHeader(bytes, 0, length, type, flags, streamId);
  payload.copy(bytes, 9);
  return bytes;
}

export function headers(streamId: number, lines: Lines, end = false): Buffer {
  return frame(FrameType.HEADERS, end ? 0x5 : 0x4, streamId, encodeHeaderBlock(lines));
}

export const data = (streamId: number, payload: Buffer, end = false): Buffer => frame(FrameType.DATA, end ? 0x1 : 0, streamId, payload);

/** First bytes of a case: nearly always the preface of the protocol, or the rest would not be read. */
export function beginning(random: Random, role: Role): Buffer[] {
  const settings = frame(FrameType.SETTINGS, 0, 0, random.below(3) === 0 ? settingsOf(random) : EMPTY);
  if (random.below(40) === 0) return [random.bytes(random.below(80))];
  return role === 'client' ? [PREFACE, settings] : [settings];
}

/**
 * Frames that know of a session: identifiers rise, blocks decode. How many of them are absurd or mutated differs from source to source: a
 * fault that ends the connection hides what would have come after it.
 */
export class FrameSource {
  readonly #random: Random;
  readonly #role: Role;
  readonly #requests: readonly Lines[];
  readonly #hostility: number;
  #next: number;

  /**
   * @param requests what a client asks for
   * @param first the stream that it opens first
   */
  constructor(random: Random, role: Role, requests: readonly Lines[] = REQUESTS, first = 1) {
    this.#random = random;
    this.#role = role;
    this.#requests = requests;
    this.#hostility = random.pick([0.01, 0.03, 0.1, 0.6]);
    this.#next = first;
  }

  /** The other end has opened so many streams. */
  opened(streams: number): void {
    if (this.#role === 'server') this.#next = 1 + 2 * streams;
  }

  next(): Buffer {
    const random = this.#random;
    if (random.fraction() >= this.#hostility) return this.#plain();
    switch (random.below(4)) {
      case 0:
        return mutate(random, this.#plain());
      case 1:
        return random.bytes(random.below(30));
      default:
        return this.#absurd();
    }
  }

  #plain(): Buffer {
    const random = this.#random;
    const id = 1 + 2 * random.below(Math.max(1, (this.#next - 1) >> 1));
    const some = this.#next > 1 ? random.below(12) : 0;
    switch (some) {
      case 0:
      case 1:
      case 2:
        return this.#role === 'client'
          ? headers(this.#new(), random.pick(this.#requests), random.below(3) === 0)
          : headers(id, random.pick(RESPONSES), random.below(4) === 0);
      case 3:
      case 4:
      case 5:
        return data(id, random.bytes(random.pick([0, 1, 10, 200])), random.below(5) === 0);
      case 6:
        return frame(FrameType.RST_STREAM, 0, id, Buffer.of(0, 0, 0, random.below(14)));
      case 7:
        return frame(FrameType.WINDOW_UPDATE, 0, random.below(2) === 0 ? 0 : id, Buffer.of(0, random.below(2), random.below(256), 1));
      case 8:
        return frame(FrameType.PING, 0, 0, random.bytes(8));
      case 9:
        return frame(FrameType.SETTINGS, 0, 0, Buffer.of(0, random.pick([3, 4, 7]), 0, random.below(2), random.below(256), 1));
      case 10:
        return frame(FrameType.DATA, 0x8, id, Buffer.concat([Buffer.of(3), random.bytes(3 + random.below(9))]));
      default:
        return this.#role === 'client' ? this.#inParts(id) : frame(FrameType.SETTINGS, 1, 0);
    }
  }

  #absurd(): Buffer {
    const random = this.#random;
    const id = this.#streamId();
    switch (random.below(14)) {
      case 0:
      case 1:
        return this.#head();
      case 2:
      case 3:
        return data(id, random.bytes(random.pick([0, 1, 10, 200])), random.below(4) === 0);
      case 4:
        return frame(FrameType.DATA, 0x8, id, Buffer.concat([Buffer.of(random.below(12)), random.bytes(random.below(20))]));
      case 5:
        return frame(FrameType.RST_STREAM, 0, id, Buffer.of(0, 0, 0, random.below(20)));
      case 6:
      case 7:
        return frame(FrameType.WINDOW_UPDATE, 0, random.below(2) === 0 ? 0 : id, numberOf(random));
      case 8:
        return frame(FrameType.SETTINGS, random.below(8) === 0 ? 1 : 0, 0, random.below(8) === 0 ? EMPTY : settingsOf(random));
      case 9:
        return frame(FrameType.PING, random.below(2), 0, random.bytes(8));
      case 10:
        return frame(FrameType.GOAWAY, 0, 0, Buffer.concat([numberOf(random), numberOf(random), random.bytes(random.below(30))]));
      case 11:
        return this.#inParts(id);
      case 12:
        return frame(random.below(14), random.below(256), id, random.bytes(random.below(20)));
      default:
        return frame(
          random.below(10),
          random.below(256),
          random.pick([0, id, 0x7fff_ffff, 2]),
          random.bytes(random.below(12)),
          random.pick([0, 4, 5, 8, 100, 65_535, 65_536, 0xff_ffff]),
        );
    }
  }

  #head(): Buffer {
    const random = this.#random;
    if (this.#role === 'server') return headers(this.#streamId(), random.pick(RESPONSES), random.below(3) === 0);
    const id = random.below(10) === 0 ? this.#streamId() : this.#new();
    return headers(id, random.pick(this.#requests), random.below(3) === 0);
  }

  /** A block in HEADERS and CONTINUATION, with something between them now and then. */
  #inParts(id: number): Buffer {
    const random = this.#random;
    const isWild = random.fraction() < this.#hostility;
    const block = isWild
      ? random.bytes(1 + random.below(40))
      : encodeHeaderBlock(random.pick(this.#role === 'client' ? this.#requests : RESPONSES));
    const stream = this.#role === 'client' ? this.#new() : id;
    const parts: Buffer[] = [frame(FrameType.HEADERS, random.below(2), stream, block.subarray(0, 5))];
    if (isWild)
      for (let left = random.below(4); left > 0; left -= 1)
        parts.push(frame(FrameType.CONTINUATION, 0, stream, random.bytes(random.below(3))));
    if (isWild && random.below(4) === 0) parts.push(frame(FrameType.PING, 0, 0, random.bytes(8)));
    parts.push(frame(FrameType.CONTINUATION, 0x4, isWild && random.below(4) === 0 ? id : stream, block.subarray(5)));
    return Buffer.concat(parts);
  }

  #new(): number {
    const id = this.#next;
    this.#next += 2;
    return id;
  }

  /** One that may be open, or may have been. */
  #streamId(): number {
    const random = this.#random;
    const newest = this.#role === 'client' ? this.#next : 21;
    return random.below(30) === 0 ? random.below(2 ** 31) : 1 + 2 * random.below((newest + 3) >> 1);
  }
}

function settingsOf(random: Random): Buffer {
  const some = Array.from({ length: random.below(5) }, () => Buffer.concat([Buffer.of(0, random.below(8)), numberOf(random)]));
  return Buffer.concat(some);
}

function numberOf(random: Random): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(
    random.pick([0, 0, 1, 1, 100, 16_384, 65_535, 1 << 20, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, random.below(2 ** 31)]),
  );
  return bytes;
}

const long = 'x'.repeat(2_000);

export const REQUESTS: readonly Lines[] = [
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ['earshot-connection', 'abc'],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', ''],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', '%zz%00'],
  ],
  [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':path', '/.well-known/earshot/routing'],
    [':authority', 'earshot'],
  ],
  [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':path', '/.well-known/earshot/renew'],
    [':authority', 'earshot'],
    ['content-length', '12'],
  ],
  [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':path', '/'],
    ['content-length', '99999999999999999'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/'],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ...Array.from({ length: 10 }, (_, index): readonly [string, string] => [`x-${index}`, long]),
  ],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ['__proto__', 'x'],
    ['constructor', 'y'],
    ['cookie', 'a'],
    ['cookie', 'b'],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ['connection', 'close'],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ['x', 'a'],
    ['x', ''],
  ],
  [
    [':method', 'CONNECT'],
    [':authority', 'key'],
    ['x', ''],
    ['x', ''],
    ['x', 'b'],
    ['cookie', ''],
    ['cookie', ''],
  ],
  [['x-trailer', 'v']],
];

const RESPONSES: readonly Lines[] = [
  [[':status', '200']],
  [
    [':status', '200'],
    ['proxy-status', 'a; details="b"'],
  ],
  [
    [':status', '200'],
    ['proxy-status', ''],
    ['proxy-status', 'a'],
    ['x', 'b'],
    ['x', ''],
  ],
  [
    [':status', '404'],
    ['x', ''],
    ['x', ''],
  ],
  [[':status', '103']],
  [[':status', '404']],
  [
    [':status', '503'],
    ['proxy-status', 'earshot; error=http_request_denied; details="busy: later"'],
  ],
  [[':status', '99']],
  [
    [':status', '200'],
    [':status', '200'],
  ],
  [['x-trailer', 'v']],
];

const EMPTY = Buffer.alloc(0);
