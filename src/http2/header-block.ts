import { Buffer } from 'node:buffer';

import { ConnectionError, ErrorCode } from './errors.ts';
import { Flag, FrameType } from './frames.ts';

export interface HeaderBlock {
  readonly streamId: number;
  readonly block: Buffer;
  readonly endStream: boolean;
  /** RFC 7540 section 5.3.1. RFC 9113 deprecates priorities, but a former error may still be treated as one. */
  readonly dependsOnItself: boolean;
}

/** Joins HEADERS and CONTINUATION frames (RFC 9113 section 4.3), up to a size limit. */
export class HeaderBlockCollector {
  readonly #mostBytes: number;
  #open: (Omit<HeaderBlock, 'block'> & { readonly parts: Buffer[] }) | undefined;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** No other frame of any stream may come between HEADERS and the last CONTINUATION. */
  expect(type: number, streamId: number): void {
    if (this.#open === undefined || (type === FrameType.CONTINUATION && streamId === this.#open.streamId)) return;
    throw new ConnectionError(
      ErrorCode.PROTOCOL_ERROR,
      `a frame of type ${type} for stream ${streamId} is within the header block of stream ${this.#open.streamId}`,
    );
  }

  /** @returns the block once it is complete */
  headers(flags: number, streamId: number, payload: Buffer): HeaderBlock | undefined {
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'HEADERS on stream 0');
    let at = 0;
    let end = payload.length;
    if (flags & Flag.PADDED) {
      const padding = payload[at++];
      if (padding === undefined) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'a padded HEADERS frame has no padding length');
      end -= padding;
    }
    let dependsOnItself = false;
    if (flags & Flag.PRIORITY) {
      if (payload.length < at + 5) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'a HEADERS frame is too short for its priority');
      dependsOnItself = (payload.readUInt32BE(at) & 0x7fff_ffff) === streamId;
      at += 5;
    }
    if (end < at) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a HEADERS frame has more padding than payload');
    this.#open = { streamId, endStream: (flags & Flag.END_STREAM) !== 0, dependsOnItself, parts: [] };
    this.#bytes = 0;
    return this.#add(payload.subarray(at, end), flags);
  }

  continuation(flags: number, streamId: number, payload: Buffer): HeaderBlock | undefined {
    if (this.#open === undefined) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `CONTINUATION on stream ${streamId} without HEADERS`);
    // An empty CONTINUATION is useless to the sender and costs the receiver time (CVE-2024-27316 and related ones).
    if (payload.length === 0 && (flags & Flag.END_HEADERS) === 0)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'an empty CONTINUATION without END_HEADERS');
    return this.#add(payload, flags);
  }

  #add(part: Buffer, flags: number): HeaderBlock | undefined {
    const open = this.#open;
    if (open === undefined) return undefined;
    this.#bytes += part.length;
    if (this.#bytes > this.#mostBytes)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `a header block has more than ${this.#mostBytes} octets`);
    const last = (flags & Flag.END_HEADERS) !== 0;
    if (last) this.#open = undefined;
    const { parts, ...rest } = open;
    if (last && parts.length === 0) return { ...rest, block: part };
    // A frame's payload is valid during the call only.
    parts.push(Buffer.from(part));
    if (parts.length > MOST_PARTS)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `a header block comes in more than ${MOST_PARTS} frames`);
    return last ? { ...rest, block: Buffer.concat(parts) } : undefined;
  }
}

const MOST_PARTS = 32;
