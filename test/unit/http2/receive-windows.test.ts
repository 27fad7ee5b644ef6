import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_WINDOW } from '../../../src/http2/frames.ts';
import { DEFAULT_LIMITS } from '../../../src/http2/limits.ts';
import { ReceiveWindows } from '../../../src/http2/receive-windows.ts';

/** Bits of one stream that arrive in each second, over a line of so many bytes a millisecond; the reader takes all at once. */
function transfer(roundTrip: number, line: number, seconds: number): readonly number[] {
  let now = 0;
  const later = new Map<number, (() => void)[]>();
  const after = (delay: number, act: () => void): void => {
    later.set(now + delay, [...(later.get(now + delay) ?? []), act]);
  };
  let streamWindow = DEFAULT_WINDOW;
  let connectionWindow = DEFAULT_LIMITS.unconsumed;
  const windows: ReceiveWindows = new ReceiveWindows(
    DEFAULT_LIMITS,
    {
      credit: (streamId, bytes) =>
        after(roundTrip / 2, () => {
          if (streamId === 0) connectionWindow += bytes;
          else streamWindow += bytes;
        }),
      announce: () => {},
      measure: () => after(roundTrip, () => windows.sample(roundTrip)),
    },
    () => now,
  );
  after(roundTrip, () => windows.sample(roundTrip));
  const stream = { id: 1, window: DEFAULT_WINDOW, target: DEFAULT_WINDOW, unconsumed: 0, since: 0, consumedSince: 0, remoteEnded: false };
  const bits = Array.from({ length: seconds }, () => 0);
  for (; now < seconds * 1_000; now += 1) {
    for (const act of later.get(now) ?? []) act();
    later.delete(now);
    const bytes = Math.max(0, Math.min(line, streamWindow, connectionWindow));
    if (bytes === 0) continue;
    streamWindow -= bytes;
    connectionWindow -= bytes;
    after(roundTrip / 2, () => {
      windows.arrivedOnConnection(bytes);
      windows.arrived(stream, bytes);
      windows.consumed(stream, bytes);
      const second = Math.floor(now / 1_000);
      bits[second] = (bits[second] ?? 0) + bytes * 8;
    });
  }
  return bits;
}

describe('the windows of a stream', () => {
  it('let a line of 1 Gbit/s be full at a round trip of 50 ms, and soon', () => {
    const [first = 0, second = 0, third = 0] = transfer(50, 125_000, 3);
    assert.ok(first > 0.6e9, `${first} bits in the first second`);
    assert.ok(Math.min(second, third) > 0.98e9, `${second} and ${third} bits in the others`);
  });

  it('carry what their bound allows at a round trip of 150 ms: never more than a window in a round trip', () => {
    const last = transfer(150, 250_000, 4).at(-1) ?? 0;
    const most = (8 * DEFAULT_LIMITS.streamWindowMost) / 0.15;
    assert.ok(last > 0.8 * most && last <= most, `${last} of ${most} bits`);
  });
});
