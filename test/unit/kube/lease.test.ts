import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import type { Lease } from '../../../src/kube/lease/lease-record.ts';
import { LeaseLostError } from '../../../src/kube/errors.ts';
import { Contender, LeaseWorld } from './lease-world.ts';
import { assertError } from './assert-error.ts';

/** Longest pause of one candidate between tries. */
const RETRY = 1_200;

describe('leader election', () => {
  it('lets the first candidate lead and the second follow', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(100);
    const b = new Contender(world, 'b');
    await world.pass(60_000, () => assert.deepEqual([a.acts, b.acts], [true, false]));
    assert.deepEqual([a.events, b.events, a.troubles, b.troubles], [['leading'], ['following a'], [], []]);
    assert.partialDeepStrictEqual(world.lease?.spec, { holderIdentity: 'a', leaseDurationSeconds: 13, leaseTransitions: 0 });
    a.stop.abort();
    b.stop.abort();
    await world.pass(100);
  });

  it('makes a lease that goes with its owner, and has one go with it that was made without', async (t) => {
    const world = new LeaseWorld(t);
    const owner = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'site' };
    const a = new Contender(world, 'a');
    await world.pass(100);
    assert.equal(world.lease?.metadata.ownerReferences, undefined);
    a.stop.abort();
    await world.pass(100);
    const b = new Contender(world, 'b', { owner: () => owner });
    await world.pass(10_000);
    assert.deepEqual(world.lease?.metadata.ownerReferences, [owner]);
    world.lease = undefined;
    await world.pass(10_000);
    assert.equal(b.acts, false);
    const c = new Contender(world, 'c', { owner: () => owner });
    await world.pass(10_000);
    assert.equal(c.acts, true);
    assert.deepEqual((world.lease as Lease | undefined)?.metadata.ownerReferences, [owner]);
    c.stop.abort();
    await world.pass(100);
  });

  it('has a candidate of a new owner lead at once, with a lease that goes with that owner only', async (t) => {
    const world = new LeaseWorld(t);
    const owner = (uid: string) => ({ apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid });
    const former = new Contender(world, 'a', { owner: () => owner('former') });
    await world.pass(5_000);
    const a = new Contender(world, 'b', { owner: () => owner('next') });
    await world.pass(100);
    assert.deepEqual([a.acts, world.holder, world.lease?.metadata.ownerReferences], [true, 'b', [owner('next')]]);
    await world.pass(5_000);
    assert.deepEqual([former.acts, former.events], [false, ['leading', 'lost']]);
    a.stop.abort();
    await world.pass(100);
  });

  it('lets one of two candidates lead that come at the same moment', async (t) => {
    const world = new LeaseWorld(t);
    const both = [new Contender(world, 'a'), new Contender(world, 'b')];
    for (const each of both) each.latency = 50;
    await world.pass(5_000, () => assert(both.filter(({ acts }) => acts).length <= 1));
    assert.equal(both.filter(({ acts }) => acts).length, 1);
    for (const each of both) each.stop.abort();
    await world.pass(1_000);
  });

  it('gives the lease back on stop, so that the next one leads after one try', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    const b = new Contender(world, 'b');
    await world.pass(5_000);
    a.stop.abort(new Error('stop'));
    await world.pass(100);
    assert.equal(await a.done, undefined);
    assert.deepEqual(a.events, ['leading', 'released']);
    assert.notEqual(world.holder, 'a');
    await world.pass(RETRY);
    assert.deepEqual([b.acts, world.lease?.spec?.leaseTransitions], [true, 1]);
    b.stop.abort();
    await world.pass(100);
  });

  it('keeps the lease while the work of a stopped leader takes its time to end', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    const b = new Contender(world, 'b');
    await world.pass(1_000);
    a.obedient = false;
    a.stop.abort(new Error('stop'));
    await world.pass(40_000, () => assert.equal(b.acts, false));
    a.finish();
    await world.pass(RETRY + 100);
    assert.equal(b.acts, true);
    b.stop.abort();
    await world.pass(100);
  });

  it('replaces a leader that fell silent, within its duration and two tries, and after it has stopped acting', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    const b = new Contender(world, 'b');
    await world.pass(10_000);
    a.lost = 'requests';
    const failedAt = world.now;
    while (!b.acts) await world.pass(100, () => assert(!(a.acts && b.acts), 'two leaders'));
    assert(world.now - failedAt <= 13_000 + 2 * RETRY + 100, `after ${world.now - failedAt} ms`);
    const lost = await a.done;
    assert(lost instanceof LeaseLostError);
    assert.match(lost.message, /^a lost the lease n\/l/);
    assert.deepEqual(a.events, ['leading', 'lost']);
    b.stop.abort();
    await world.pass(100);
  });

  it('stops a leader ten seconds after its last renewal, three before anyone may follow it', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    let version: string | undefined;
    let renewedAt = 0;
    const look = (): void => {
      if (world.lease?.metadata.resourceVersion !== version) renewedAt = world.now;
      version = world.lease?.metadata.resourceVersion;
    };
    await world.pass(9_900, look);
    a.lost = 'requests';
    while (a.acts) await world.pass(100, look);
    assert.equal(world.now - renewedAt, 10_000);
    assert.equal(world.lease?.spec?.leaseDurationSeconds, 13);
  });

  it('counts from the sending of what took or renewed the lease, not from its answer', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    // The read was sent on a quick line; from here on each way takes 1.5 s. Created: sent at 0, answered at 3 s.
    a.latency = 1_500;
    await world.pass(3_000);
    assert.equal(a.acts, true);
    // The renewal goes out at 6 s and is answered at 9 s.
    await world.pass(6_000);
    a.lost = 'requests';
    while (a.acts) await world.pass(100);
    assert.equal(world.now, 16_000);

    const b = new Contender(world, 'b');
    await world.pass(20_000);
    assert.equal(b.acts, true);
    b.stop.abort();
    await world.pass(100);
    const sentAt = world.now;
    const c = new Contender(world, 'c');
    c.latency = 1_500;
    await world.pass(3_000);
    c.lost = 'requests';
    while (c.acts) await world.pass(100);
    assert.equal(world.now, sentAt + 10_000);
  });

  it('is taken up at once by a process that is restarted under the same name', async (t) => {
    const world = new LeaseWorld(t);
    world.edit({ holderIdentity: 'a', leaseDurationSeconds: 15 });
    const a = new Contender(world, 'a');
    await world.pass(100);
    assert.deepEqual([a.acts, a.events], [true, ['leading']]);
    a.stop.abort();
    await world.pass(100);
  });

  it('goes on through renewals whose answers are lost for a while', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(10_000);
    a.lost = 'answers';
    await world.pass(5_000);
    a.lost = 'nothing';
    await world.pass(30_000, () => assert.equal(a.acts, true));
    assert(a.troubles.length > 0);
    a.stop.abort();
    await world.pass(100);
    assert.equal(world.holder, undefined);
  });

  it('continues after another client edits the object', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    for (let i = 0; i < 10; i++) {
      await world.pass(3_000, () => assert.equal(a.acts || world.now < 200, true));
      world.edit({});
    }
    a.stop.abort();
    await world.pass(100);
  });

  it('stops at the next renewal where another holds the lease', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(1_000);
    world.edit({ holderIdentity: 'x' });
    await world.pass(4_000);
    assert.equal(a.acts, false);
    assert((await a.done) instanceof LeaseLostError);
    assert.equal(world.holder, 'x');
  });

  it('stops at the next renewal where the object is gone', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(1_000);
    world.lease = undefined;
    await world.pass(4_000);
    assert((await a.done) instanceof LeaseLostError);
  });

  for (const [what, shift] of [
    ['an hour behind', -3_600_000],
    ['an hour ahead', 3_600_000],
  ] as const) {
    it(`decides nothing by the holder's clock, which is ${what}`, async (t) => {
      const world = new LeaseWorld(t);
      const a = new Contender(world, 'a');
      const renew = (): void => {
        const renewTime = new Date(Date.now() + shift + world.now).toISOString();
        world.edit({ holderIdentity: 'skewed', leaseDurationSeconds: 15, renewTime });
      };
      a.lost = 'requests';
      renew();
      await world.pass(6_000);
      a.lost = 'nothing';
      for (let i = 0; i < 8; i++) {
        renew();
        await world.pass(5_000, () => assert.equal(a.acts, false));
      }
      await world.pass(10_000 + 2 * RETRY + 100);
      assert.equal(a.acts, true);
      a.stop.abort();
      await world.pass(100);
    });
  }

  it('notifies a frozen leader that it lost the lease, before any timer does', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(1_000);
    assert.equal(a.stillLeading(), true);
    world.now += 10_000;
    assert.deepEqual([a.stillLeading(), a.leading?.aborted ?? true], [false, true]);
    await world.pass(100);
    assert((await a.done) instanceof LeaseLostError);
  });

  it('keeps the lease while stopping work finishes', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    a.obedient = false;
    await world.pass(1_000);
    a.stop.abort();
    await world.pass(20_000);
    assert.deepEqual([a.acts, a.stillLeading(), world.holder], [false, true, 'a']);
    a.finish();
    await world.pass(100);
    assert.equal(a.stillLeading(), false);
  });

  it('does not take a renewal that is answered too late for a new lease', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(1_000);
    a.latency = 2_400;
    await world.pass(4_000);
    // The renewal is under way; the process freezes, and finds its answer when it wakes.
    world.now += 20_000;
    await world.pass(5_000);
    assert((await a.done) instanceof LeaseLostError);
  });

  it('releases when the work ends, and rejects with what it rejects with', async (t) => {
    const world = new LeaseWorld(t);
    const well = new Contender(world, 'a');
    await world.pass(100);
    well.finish();
    await world.pass(100);
    assert.deepEqual([await well.done, world.holder], [undefined, undefined]);
    const badly = new Contender(world, 'b');
    await world.pass(100);
    badly.finish(new RangeError('broken'));
    await world.pass(100);
    assert((await badly.done) instanceof RangeError);
    assert.equal(world.holder, undefined);
  });

  it('leaves quietly where it is stopped while it waits', async (t) => {
    const world = new LeaseWorld(t);
    world.edit({ holderIdentity: 'x', leaseDurationSeconds: 15 });
    const a = new Contender(world, 'a');
    await world.pass(3_000);
    a.stop.abort(new Error('stop'));
    await world.pass(100);
    assert.deepEqual([await a.done, a.events, world.holder], [undefined, ['following x'], 'x']);
  });

  it('gives the lease back unused where it is stopped in the moment of taking it', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    a.latency = 500;
    await world.pass(400);
    assert.equal(world.holder, undefined);
    // The server has made the lease; the answer is on its way for another 400 ms.
    await world.pass(200);
    assert.equal(world.holder, 'a');
    a.stop.abort(new Error('stop'));
    await world.pass(2_000);
    assert.deepEqual([await a.done, a.events, world.holder], [undefined, ['released'], undefined]);
  });

  it('gives up where its client is closed', async (t) => {
    const world = new LeaseWorld(t);
    world.edit({ holderIdentity: 'x', leaseDurationSeconds: 15 });
    const a = new Contender(world, 'a');
    a.closed = true;
    await world.pass(2_000);
    assertError(await a.done, { code: 'kube-closed' });
  });

  it('releases even where the object changed since the last renewal', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    await world.pass(1_000);
    world.edit({});
    a.stop.abort(new Error('stop'));
    await world.pass(100);
    assert.equal(world.holder, undefined);
  });

  it('waits, and says so, where leases cannot be read', async (t) => {
    const world = new LeaseWorld(t);
    const a = new Contender(world, 'a');
    a.lost = 'requests';
    await world.pass(12_000);
    assert(a.troubles.length >= 2);
    a.lost = 'nothing';
    await world.pass(5_000);
    assert.equal(a.acts, true);
    a.stop.abort();
    await world.pass(100);
  });
});

const weather = fc.record({
  who: fc.nat(2),
  lost: fc.constantFrom('nothing' as const, 'nothing' as const, 'requests' as const, 'answers' as const),
  latency: fc.constantFrom(0, 200, 1_500, 4_000),
  lasts: fc.integer({ min: 1, max: 150 }),
});

describe('leader election, whatever the network does', () => {
  it('never has two leaders, and has one again once the network is well', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(weather, { maxLength: 8 }), async (changes) => {
        const world = new LeaseWorld(t);
        const contenders = ['a', 'b', 'c'].map((name) => new Contender(world, name));
        const check = (): void => {
          const acting = contenders.filter((each) => each.acts);
          assert(acting.length <= 1, 'two leaders');
        };
        for (const { who, lost, latency, lasts } of changes) {
          const contender = contenders[who];
          if (contender !== undefined) Object.assign(contender, { lost, latency });
          await world.pass(lasts * 100, check);
        }
        for (const each of contenders) Object.assign(each, { lost: 'nothing', latency: 0 });
        // A contender that lost the lease has left for good: another one comes in its place, as a restarted pod does.
        contenders.push(new Contender(world, 'd'));
        await world.pass(25_000, check);
        assert.equal(contenders.filter((each) => each.acts).length, 1);
        for (const each of contenders) each.stop.abort();
        await world.pass(10_000);
      }),
      { numRuns: 15 },
    );
  });
});
