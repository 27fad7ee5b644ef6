/** Constants of RFC 9113 section 6, and the frames that this end sends. */
import { Buffer } from 'node:buffer';

export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const Flag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const FRAME_HEADER_BYTES = 9;
export const DEFAULT_WINDOW = 65_535;
export const DEFAULT_MAX_FRAME = 16_384;
export const MAX_WINDOW = 0x7fff_ffff;
export const MAX_STREAM_ID = 0x7fff_ffff;

export function writeFrameHeader(out: Buffer, at: number, length: number, type: number, flags: number, streamId: number): void {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  out[at + 5] = streamId >>> 24;
  out[at + 6] = streamId >>> 16;
  out[at + 7] = streamId >>> 8;
  out[at + 8] = streamId;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const out = frameOf(FrameType.SETTINGS, 0, 0, settings.length * 6);
  settings.forEach(([id, value], index) => {
    const at = FRAME_HEADER_BYTES + index * 6;
    out.writeUInt16BE(id, at);
    out.writeUInt32BE(value, at + 2);
  });
  return out;
}

export function settingsAckFrame(): Buffer {
  return frameOf(FrameType.SETTINGS, Flag.ACK, 0, 0);
}

/** @param opaque 8 bytes */
export function pingFrame(opaque: Buffer, ack: boolean): Buffer {
  const out = frameOf(FrameType.PING, ack ? Flag.ACK : 0, 0, 8);
  opaque.copy(out, FRAME_HEADER_BYTES);
  return out;
}

export function goawayFrame(lastStreamId: number, errorCode: number, reason: string): Buffer {
  const debug = Buffer.from(reason.slice(0, 200), 'latin1');
  const out = frameOf(FrameType.GOAWAY, 0, 0, 8 + debug.length);
  out.writeUInt32BE(lastStreamId, FRAME_HEADER_BYTES);
  out.writeUInt32BE(errorCode, FRAME_HEADER_BYTES + 4);
  debug.copy(out, FRAME_HEADER_BYTES + 8);
  return out;
}

export function resetFrame(streamId: number, errorCode: number): Buffer {
  const out = frameOf(FrameType.RST_STREAM, 0, streamId, 4);
  out.writeUInt32BE(errorCode >>> 0, FRAME_HEADER_BYTES);
  return out;
}

export function windowUpdateFrame(streamId: number, increment: number): Buffer {
  const out = frameOf(FrameType.WINDOW_UPDATE, 0, streamId, 4);
  out.writeUInt32BE(increment, FRAME_HEADER_BYTES);
  return out;
}

/** HEADERS, followed by CONTINUATION if the block exceeds the peer's frame size. */
export function headersFrames(streamId: number, block: Buffer, endStream: boolean, maxFrame: number): Buffer {
  const frames = Math.max(1, Math.ceil(block.length / maxFrame));
  const out = Buffer.allocUnsafe(block.length + frames * FRAME_HEADER_BYTES);
  let at = 0;
  for (let index = 0; index < frames; index++) {
    const part = block.subarray(index * maxFrame, (index + 1) * maxFrame);
    const flags = (index === 0 && endStream ? Flag.END_STREAM : 0) | (index === frames - 1 ? Flag.END_HEADERS : 0);
    writeFrameHeader(out, at, part.length, index === 0 ? FrameType.HEADERS : FrameType.CONTINUATION, flags, streamId);
    part.copy(out, at + FRAME_HEADER_BYTES);
    at += FRAME_HEADER_BYTES + part.length;
  }
  return out;
}

function frameOf(type: number, flags: number, streamId: number, length: number): Buffer {
  const out = Buffer.allocUnsafe(FRAME_HEADER_BYTES + length);
  writeFrameHeader(out, 0, length, type, flags, streamId);
  return out;
}
