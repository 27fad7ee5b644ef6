import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_LIMITS } from '../../../../src/router/http2/limits.ts';
import { ReceiveWindows, type ReceiveSide } from '../../../../src/router/http2/receive-windows.ts';

const FULL = DEFAULT_LIMITS.streamWindow;

class Peer {
  now = 0;
  readonly announced: number[] = [];
  readonly streams: ReceiveSide[] = [];
  readonly windows = new ReceiveWindows(DEFAULT_LIMITS, {
    credit() {},
    announce: (initial) => this.announced.push(initial),
    measure: () => this.windows.sample(50),
  }, () => this.now);

  open(): ReceiveSide {
    const window = this.windows.initial;
    const stream = {
      id: this.streams.length * 2 + 1, window, target: window, unconsumed: 0, parts: 0, since: this.now, consumedSince: 0, remoteEnded: false,
    };
    this.streams.push(stream);
    return stream;
  }

  /** Sends as much as it may, and all of it is read at once, until the window grows no more. */
  flow(stream: ReceiveSide): void {
    for (let before = -1; stream.target > before;) {
      before = stream.target;
      for (let round = 0; round < 4; round += 1) {
        this.now += 1;
        const bytes = stream.window;
        this.send(stream, bytes);
        this.windows.consumed(stream, bytes);
      }
    }
  }

  send(stream: ReceiveSide, bytes = stream.window): void {
    this.windows.arrivedOnConnection(bytes);
    assert.equal(this.windows.arrived(stream, bytes), true);
  }
}

describe('receive windows', () => {
  it('stay whole for those who read when readers with grown windows stop', () => {
    const peer = new Peer();
    peer.windows.sample(50);
    const stopped = [peer.open(), peer.open()];
    for (const stream of stopped) peer.flow(stream);
    assert.ok(stopped.every(({ target }) => target >= 4_000_000), `${stopped.map(({ target }) => target).join(' and ')} bytes`);
    for (const stream of stopped) peer.send(stream);
    assert.ok(peer.windows.unconsumed > DEFAULT_LIMITS.unconsumed / 4);
    const reader = peer.open();
    peer.send(reader);
    assert.deepEqual(peer.announced, []);
    assert.equal(peer.windows.initial, FULL);
  });

  it('still grow for a reader when others have stopped that had grown before', () => {
    const peer = new Peer();
    peer.windows.sample(50);
    for (const stream of [peer.open(), peer.open(), peer.open()]) {
      peer.flow(stream);
      peer.send(stream);
    }
    const reader = peer.open();
    peer.flow(reader);
    assert.ok(reader.target >= 1 << 19, `${reader.target} bytes`);
  });

  it('get smaller for all when many readers stop', () => {
    const peer = new Peer();
    for (let at = 0; at < 300 && peer.announced.length === 0; at += 1) peer.send(peer.open());
    assert.deepEqual(peer.announced, [FULL >> 2]);
  });
});
