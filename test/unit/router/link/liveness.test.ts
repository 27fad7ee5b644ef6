import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Liveness, type Watched } from '../../../../src/router/link/session/liveness.ts';

class Peer implements Watched {
  bytesRead = 0;
  pings = 0;
  /** Milliseconds, when it was given up. */
  deadAfter: number | undefined;
  /** The calls that it received, in order. */
  readonly told: string[] = [];
  #answer = Promise.withResolvers<number>();

  ping(): Promise<number> {
    this.pings += 1;
    this.#answer = Promise.withResolvers<number>();
    return this.#answer.promise;
  }

  suspect(milliseconds: number): void {
    this.told.push(`suspect after ${milliseconds}`);
  }

  recover(): void {
    this.told.push('recovered');
  }

  giveUp(milliseconds: number): void {
    this.deadAfter = milliseconds;
  }

  async answer(roundTrip = 1): Promise<void> {
    this.bytesRead += 17;
    this.#answer.resolve(roundTrip);
    await new Promise(setImmediate);
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

  test('a peer that answers nothing is suspect within three seconds, and given up after thirty', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 3_000);
    assert.deepEqual(peer.told, ['suspect after 2000']);
    pass(liveness, 26_500);
    assert.equal(peer.deadAfter, undefined);
    pass(liveness, 1_000);
    assert.equal(peer.pings, 1);
    assert.equal(peer.deadAfter, 30_000);
  });

  test('one that dies just after it answered is suspect within three seconds too', async () => {
    const peer = new Peer();
    using liveness = watch(peer);
    liveness.look();
    await peer.answer();
    pass(liveness, 2_800);
    assert.equal(peer.pings, 2);
    assert.deepEqual(peer.told, ['suspect after 2000']);
  });

  test('a suspect peer is used again once it answers; bytes alone only put off its end', async () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 12_000);
    peer.bytesRead += 1;
    pass(liveness, 29_000);
    assert.deepEqual(peer.told, ['suspect after 2000'], 'bytes from a peer do not prove that it receives any');
    assert.equal(peer.deadAfter, undefined);
    await peer.answer();
    pass(liveness, 100);
    assert.deepEqual(peer.told, ['suspect after 2000', 'recovered']);
  });

  for (const roundTrip of [0.1, 600, 3_000, 5_000])
    test(`a peer with a round trip of ${roundTrip} ms is never given up, nor suspect for long, and a pause of 10 s ends nothing`, async () => {
      const peer = new Peer();
      using liveness = watch(peer);
      const answerPings = async (count: number): Promise<void> => {
        for (let answered = 0; answered < count; answered += 1) {
          const { pings } = peer;
          for (let looks = 0; looks < 10 && peer.pings === pings; looks += 1) pass(liveness, 100);
          pass(liveness, roundTrip);
          await peer.answer(roundTrip);
          pass(liveness, 100);
        }
      };
      await answerPings(5);
      peer.told.length = 0;
      await answerPings(20);
      assert.deepEqual(peer.told, [], 'the round trip is known by now');
      pass(liveness, 10_000 + roundTrip + 10_000);
      await peer.answer(roundTrip + 20_000);
      pass(liveness, 100);
      await answerPings(5);
      assert.equal(peer.deadAfter, undefined);
      assert.equal(peer.told.at(-1), 'recovered');
    });

  test('a peer that sends anything lives, though its answer to a ping waits behind it', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 60_000, () => {
      peer.bytesRead += 1;
    });
    assert.deepEqual(peer.told, []);
    pass(liveness, 3_000);
    assert.deepEqual(peer.told, ['suspect after 2000']);
  });

  test('a peer that answers is pinged again, and lives', async () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 100);
    await peer.answer();
    pass(liveness, 700);
    assert.equal(peer.pings, 2);
    assert.deepEqual(peer.told, []);
  });

  test('time in which this process stood still is not held against its peers', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    pass(liveness, 500);
    now += 60_000;
    liveness.look();
    assert.deepEqual([peer.deadAfter, peer.told], [undefined, []]);
    pass(liveness, 31_000);
    assert.notEqual(peer.deadAfter, undefined);
  });

  test('other times count from the next scan on', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    liveness.apply({ suspectAfter: 500, deadAfter: 1_000 });
    pass(liveness, 700);
    assert.deepEqual(peer.told, ['suspect after 500']);
    pass(liveness, 500);
    assert.equal(peer.deadAfter, 1_000);
  });

  test('a connection that has ended is watched no more', () => {
    const peer = new Peer();
    using liveness = watch(peer);
    liveness.unwatch(peer);
    pass(liveness, 10_000);
    assert.equal(peer.pings, 0);
    assert.deepEqual([peer.deadAfter, peer.told], [undefined, []]);
  });
});
