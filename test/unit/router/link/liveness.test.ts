import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Liveness, type Watched } from '../../../../src/router/link/session/liveness.ts';

class Peer implements Watched {
  bytesRead = 0;
  pings = 0;
  silentFor: number | undefined;
  #answer = Promise.withResolvers<number>();

  ping(): Promise<number> {
    this.pings += 1;
    this.#answer = Promise.withResolvers<number>();
    return this.#answer.promise;
  }

  silent(milliseconds: number): void {
    this.silentFor = milliseconds;
  }

  answer(): void {
    this.#answer.resolve(1);
  }
}

describe('liveness', () => {
  let now = 0;
  const watch = (peer: Peer): Liveness => {
    now = 1_000;
    const liveness = new Liveness({}, () => now);
    liveness.watch(peer);
    return liveness;
  };
  const pass = (liveness: Liveness, milliseconds: number, each = (): void => {}): void => {
    for (let passed = 0; passed < milliseconds; passed += 100) {
      now += 100;
      each();
      liveness.look();
    }
  };

  test('a peer that answers nothing is found silent within three seconds', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 3_000);
    assert.equal(peer.pings, 1);
    assert.ok(peer.silentFor !== undefined && peer.silentFor <= 3_000);
  });

  test('one that dies just after it answered is found within three seconds too', async () => {
    const peer = new Peer();
    using liveness = watch(peer);
    liveness.look();
    peer.answer();
    await new Promise(setImmediate);
    pass(liveness, 2_800);
    assert.equal(peer.pings, 2);
    assert.notEqual(peer.silentFor, undefined);
  });

  test('a peer that sends anything lives, though its answer to a ping waits behind it', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 60_000, () => {
      peer.bytesRead += 1;
    });
    assert.equal(peer.silentFor, undefined);
    pass(liveness, 3_000);
    assert.notEqual(peer.silentFor, undefined);
  });

  test('a peer that answers is pinged again, and lives', async () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 100);
    peer.answer();
    await new Promise(setImmediate);
    pass(liveness, 700);
    assert.equal(peer.pings, 2);
    assert.equal(peer.silentFor, undefined);
  });

  test('time in which this process stood still is not held against its peers', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 500);
    now += 60_000;
    liveness.look();
    assert.equal(peer.silentFor, undefined);
    pass(liveness, 3_000);
    assert.notEqual(peer.silentFor, undefined);
  });

  test('a connection that has ended is watched no more', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    liveness.unwatch(peer);
    pass(liveness, 10_000);
    assert.equal(peer.pings, 0);
    assert.equal(peer.silentFor, undefined);
  });
});
