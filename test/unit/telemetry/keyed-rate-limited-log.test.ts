import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { KeyedRateLimitedLog } from '../../../src/telemetry/keyed-rate-limited-log.ts';

test('a key that comes after thousands of long silent keys has a limit of its own', () => {
  let [now, lines] = [0, 0];
  const rations = new KeyedRateLimitedLog(pino({}, { write: () => void (lines += 1) }), () => now);
  const fill = (whom: string): number => {
    const before = lines;
    for (let left = 100; left > 0; left -= 1) rations.of(whom).info({}, 'a line');
    return lines - before;
  };
  const own = fill('first');
  assert.ok(own > 0 && own < 100);
  for (let number = 0; number < 5_000; number += 1) rations.of(`site-${number}`).info({}, 'a line');
  assert.ok(fill('one more') < own, 'while all others are recent, keys beyond the limit share one');
  now += 60_000;
  assert.equal(fill('later'), own);
  assert.equal(fill('another'), own);
});
