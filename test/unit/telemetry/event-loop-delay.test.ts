import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lateness } from '../../../src/telemetry/event-loop-delay.ts';

test('an idle event loop is not late, and a busy one is late by what it took beyond the period of the timer', () => {
  for (const [milliseconds, expected] of [
    [0, 0],
    [99.9, 0],
    [100, 0],
    [101, 0.001],
    [600, 0.5],
  ] as const) {
    assert.ok(Math.abs(lateness(milliseconds * 1e6) - expected) < 1e-9, `${milliseconds} ms`);
  }
});
