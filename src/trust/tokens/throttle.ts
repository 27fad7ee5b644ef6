import { isIPv6 } from 'node:net';
import type { Clock } from '../contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';
import { groupsOf } from '../../x509/alternative-names.ts';

/** Slows down who guesses codes. Time is what is asked of `clock` (milliseconds, monotonic). */
export interface Throttle {
  /** Milliseconds until this address may try (again); 0 for now. */
  waitFor(address: string): number;
  /** A try that may have been a guess. */
  guessed(address: string): void;
}

/** Slips of the pen and a token pasted twice. */
const FREE_GUESSES = 5;
const WAIT: Backoff = { first: 1_000, max: 900_000 };
/** An address that has not guessed for so long starts anew. */
const FORGET_AFTER = 3_600_000;
const MAX_ADDRESSES = 4_096;
/** For all addresses together: so many at once, and then so many a second. */
const BURST = 200;
const REFILL_EACH_SECOND = 2;

/**
 * Each address waits twice as long after each wrong guess as before; all addresses together have a supply of wrong guesses
 * that refills slowly. While it is empty, honest redeemers wait too, and come in when it is their turn: that is the price of
 * a code that a person made up. (One of ours has 160 bits: no number of guesses finds it.)
 */
export function createThrottle(clock: Clock): Throttle {
  const addresses = new Map<string, Guesser>();
  let supply = BURST;
  let supplied = clock();

  const refill = (now: number): void => {
    supply = Math.min(BURST, supply + ((now - supplied) / 1_000) * REFILL_EACH_SECOND);
    supplied = now;
  };

  return {
    waitFor(address) {
      const now = clock();
      refill(now);
      const shared = supply >= 1 ? 0 : ((1 - supply) / REFILL_EACH_SECOND) * 1_000;
      return Math.max(shared, (addresses.get(networkOf(address))?.until ?? now) - now, 0);
    },
    guessed(address) {
      const now = clock();
      refill(now);
      supply = Math.max(0, supply - 1);
      const network = networkOf(address);
      const before = addresses.get(network);
      const count = (before === undefined || now - before.last > FORGET_AFTER ? 0 : before.count) + 1;
      const wait = count <= FREE_GUESSES ? 0 : backoffDelay(WAIT, count - FREE_GUESSES, 0);
      // Put at the end, so that the first of the map is the one who has not guessed for longest.
      addresses.delete(network);
      addresses.set(network, { count, last: now, until: now + wait });
      if (addresses.size > MAX_ADDRESSES) for (const first of addresses.keys()) return void addresses.delete(first);
    },
  };
}

interface Guesser {
  readonly count: number;
  readonly last: number;
  readonly until: number;
}

/** Who has one IPv6 address has all of its /64 (RFC 6177). */
export function networkOf(address: string): string {
  const [bare = ''] = address.split('%', 1);
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? [];
  if (mapped !== undefined || !isIPv6(bare)) return mapped ?? bare;
  return `${groupsOf(bare).slice(0, 4).join(':')}::/64`;
}
