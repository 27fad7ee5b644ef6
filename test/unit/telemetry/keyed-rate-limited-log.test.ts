import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { KeyedRateLimitedLog } from '../../../src/telemetry/keyed-rate-limited-log.ts';

test('whoever comes after thousands who have long been silent has a ration of his own', () => {
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
  assert.ok(fill('one more') < own, 'while all others have just been told of, those beyond share one');
  now += 60_000;
  assert.equal(fill('later'), own);
  assert.equal(fill('another'), own);
});
