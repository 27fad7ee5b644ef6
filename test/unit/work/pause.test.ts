import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aborted, pause } from '../../../src/work/pause.ts';

test('a pause ends early with the reason of its signal, also where that was aborted before', async () => {
  const stop = new AbortController();
  const pausing = pause(3_600_000, stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(pausing, /enough/);
  await assert.rejects(pause(0, stop.signal), /enough/);
  await aborted(stop.signal);
});

test('a pause that passes leaves nothing at its signal', async () => {
  const { signal } = new AbortController();
  const removed: unknown[] = [];
  signal.removeEventListener = (type: string): void => void removed.push(type);
  await pause(1, signal);
  assert.deepEqual(removed, ['abort']);
});
