import assert from 'node:assert/strict';
import { FrameReader } from '../../src/http2/frame-reader.ts';
import { FrameType, PREFACE } from '../../src/http2/frames.ts';

/** The frames that an end has sent, as far as a reader can judge them. */
export interface Sent {
  readonly bytes: number;
  readonly frames: number;
  /** The error code of the GOAWAY that ended it; undefined where none was sent. */
  readonly goaway: number | undefined;
}

/** Reads the output of a session, which must be valid frames for any input. @throws AssertionError if it is not */
export function readSent(written: readonly Buffer[], role: 'client' | 'server'): Sent {
  const all = Buffer.concat(written);
  const bytes = role === 'client' ? all.subarray(PREFACE.length) : all;
  // One whose connection ended before its first turn has said nothing.
  if (role === 'client' && all.length > 0) assert.ok(all.subarray(0, PREFACE.length).equals(PREFACE), 'a client begins with the preface');
  let frames = 0;
  let goaway: number | undefined;
  let open = false;
  const over = new Set<number>();
  const reader = new FrameReader(
    {
      onDataStart: (streamId) => {
        frames += 1;
        assert.ok(streamId > 0 && !over.has(streamId), `DATA after the end of stream ${streamId}`);
      },
      onData: () => {},
      onDataEnd: () => {},
      onFrame: (type, flags, streamId, payload) => {
        frames += 1;
        if (frames === 1) assert.equal(type, FrameType.SETTINGS, 'the first frame is SETTINGS');
        assert.ok(type <= FrameType.CONTINUATION, `a frame of type ${type} is sent`);
        assert.ok(!open || type === FrameType.CONTINUATION, 'a frame stands within a header block');
        if (type === FrameType.HEADERS || type === FrameType.CONTINUATION) open = (flags & 0x4) === 0;
        if (type === FrameType.WINDOW_UPDATE) assert.ok(payload.readUInt32BE(0) > 0, 'a window is opened by nothing');
        if (type === FrameType.RST_STREAM) over.add(streamId);
        if (type === FrameType.GOAWAY) goaway = payload.readUInt32BE(4);
      },
    },
    0xff_ffff,
  );
  reader.push(bytes);
  return { bytes: all.length, frames, goaway };
}
