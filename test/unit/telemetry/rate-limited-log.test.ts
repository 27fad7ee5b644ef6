import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitTable } from '../../../src/limits/table.ts';
import { RateLimitedLog } from '../../../src/telemetry/rate-limited-log.ts';
import { logLines } from '../support/log-lines.ts';

for (const level of ['info', 'debug'] as const) {
  test(`lines beyond the limit are ${level === 'debug' ? 'at debug' : 'left out'}, and the next line has their number`, () => {
    let now = 0;
    const { log, entries } = logLines(level);
    const limited = new RateLimitedLog(log, () => now);
    const { burst, perSecond } = limitTable.logLines.value;
    for (let left = burst + 5; left > 0; left -= 1) limited.warn({ client: 'a' }, 'refused');
    now += 1_000 / perSecond;
    limited.warn({ client: 'b' }, 'refused');
    const ofLevel = (name: string): number => entries.filter((entry) => entry['level'] === name).length;
    assert.deepEqual([ofLevel('warn'), ofLevel('debug')], [burst + 1, level === 'debug' ? 5 : 0]);
    assert.equal(entries.at(-1)?.['withheld'], 5);
  });
}
