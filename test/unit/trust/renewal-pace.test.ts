import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EarlyRenewalError } from '../../../src/identity/issued.ts';
import { RenewalPace } from '../../../src/trust/renewal-pace.ts';
import { DAY, makeClock } from './support/site.ts';

const MINUTE = 60_000;

function aPace() {
  const clock = makeClock(0);
  const pace = new RenewalPace(clock);
  return {
    clock,
    begin: (serial: string, site: string, lifetime = 30 * DAY) => pace.begin(serial, site, lifetime, true),
    /** Milliseconds to wait; 0 where it was let begin, and is over. */
    wait: (serial: string, site: string, lifetime = 30 * DAY, isDue = true): number => {
      try {
        using _turn = pace.begin(serial, site, lifetime, isDue);
        return 0;
      } catch (error) {
        if (error instanceof EarlyRenewalError) return error.retryAfter;
        throw error;
      }
    },
  };
}

describe('Renewals', () => {
  it('of a certificate, and of a site, run one at a time', () => {
    const { begin, wait, clock } = aPace();
    const turn = begin('A', 'east');
    clock.advance(MINUTE);
    assert.ok(wait('A', 'north') > 0);
    assert.ok(wait('B', 'east') > 0);
    assert.equal(wait('B', 'west'), 0);
    turn[Symbol.dispose]();
    assert.equal(wait('A', 'north'), 0);
  });

  it('of a site are a minute apart, for any certificates it shows, and do not delay other sites', () => {
    const { wait, clock } = aPace();
    assert.deepEqual([wait('A', 'east'), wait('B', 'east'), wait('C', 'north')], [0, MINUTE, 0]);
    clock.advance(MINUTE - 1);
    assert.equal(wait('B', 'east'), 1);
    clock.advance(1);
    assert.equal(wait('B', 'east'), 0);
  });

  it('of one certificate are twice as far apart each time, whichever sites show it, up to a day', () => {
    const { wait, clock } = aPace();
    const pauses: number[] = [];
    for (let site = 0; site < 14; site += 1) {
      assert.equal(wait('A', `site ${site}`), 0);
      const pause = wait('A', 'another');
      pauses.push(pause / MINUTE);
      clock.advance(pause);
    }
    assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440, 1_440]);
  });

  it('of a site before they are due are twice as far apart each time, whatever certificates it shows; those that are due are not', () => {
    const { wait, clock } = aPace();
    const pauses: number[] = [];
    for (let serial = 0; serial < 12; serial += 1) {
      assert.equal(wait(`${serial}`, 'east', 30 * DAY, false), 0);
      const pause = wait('next', 'east', 30 * DAY, false);
      pauses.push(pause / MINUTE);
      clock.advance(pause);
    }
    assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440]);
    assert.equal(wait('A', 'east', 30 * DAY, false), 0);
    clock.advance(MINUTE);
    assert.deepEqual([wait('due', 'east'), wait('B', 'north', 30 * DAY, false)], [0, 0]);
  });

  it('of certificates that live for seconds are a sixteenth of that apart', () => {
    const { wait, clock } = aPace();
    assert.deepEqual([wait('A', 'east', 16_000), wait('B', 'east', 16_000)], [0, 1_000]);
    clock.advance(1_000);
    assert.equal(wait('B', 'east', 16_000), 0);
  });
});
