import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASIC_BYTES, FULL_BYTES, History, historySteps } from '../../../src/console/history.ts';
import type { Watcher } from '../../../src/console/watcher.ts';
import { figuresOf, memoryState, memoryWatcher, type MemoryState } from './memory-sources.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

const sumOf = (history: History, step: number): number =>
  (history.read('all', 'opened', step, START, START + 900_000)?.points ?? []).reduce((sum, [, value]) => sum + (value ?? 0), 0);

test('sums of a quarter of an hour are equal at all steps', () => {
  const history = new History(2 ** 20);
  for (let at = 0; at < 180; at += 1) history.add('all', START + at * 5_000, { opened: at % 7 });
  const sums = historySteps.map(({ seconds }) => sumOf(history, seconds));
  assert.deepEqual(sums, [sums[0], sums[0], sums[0]]);
  assert.ok((sums[0] ?? 0) > 500);
});

test('a step without a measurement is null, and values older than the ring are gone', () => {
  const history = new History(2 ** 20);
  history.add('all', START, { opened: 1 });
  history.add('all', START + 30_000, { opened: 2 });
  const read = (from: number): unknown => history.read('all', 'opened', 10, from, from + 60_000)?.points.map(([, value]) => value);
  assert.deepEqual(read(START), [1, null, null, 2]);
  history.add('all', START + 1_800_000, { opened: 3 });
  assert.deepEqual(
    history.read('all', 'opened', 10, START, START + 15_000)?.points.map(([, value]) => value),
    [null],
  );
});

test('a clock that was ahead and is set back leaves no gap, and a small step back loses nothing', () => {
  const history = new History(2 ** 20);
  history.add('all', START, { opened: 1 });
  history.add('all', START + 7_200_000, { opened: 9 });
  history.add('all', START + 600_000, { opened: 2 });
  history.add('all', START + 599_000, { opened: 3 });
  for (const { seconds } of historySteps) assert.equal(sumOf(history, seconds), seconds === 10 ? 5 : 6, `${seconds} s`);
  assert.deepEqual(history.read('all', 'opened', 60, START + 900_000, START + 7_200_000)?.points, []);
});

test('memory stays within the cap: objects without traffic keep less, and further ones nothing', () => {
  const most = 4 * FULL_BYTES + 10 * BASIC_BYTES;
  const history = new History(most);
  for (let at = 0; at < 50; at += 1) history.add(`key:idle-${at}`, START, { opened: 0 });
  for (let at = 0; at < 50; at += 1) history.add(`key:busy-${at}`, START, { opened: 1 });
  assert.ok(history.bytes <= most, `${history.bytes} bytes`);
  assert.equal(history.add('key:late', START, { opened: 0 }), history.bytes + BASIC_BYTES <= most);
});

/** A watcher with two samples, between which connections were opened and failed. */
async function afterTraffic(): Promise<{ readonly state: MemoryState; readonly watcher: Watcher }> {
  const state = memoryState();
  const watcher = memoryWatcher(state);
  await watcher.read();
  state.figures = figuresOf(50, 10);
  state.now += 5_000;
  await watcher.read();
  return { state, watcher };
}

test('rates and percentiles of a key come from the difference of two samples, also after a restart of the router', async () => {
  const { state, watcher } = await afterTraffic();
  const web = watcher.keys.find(({ key }) => key === 'web');
  assert.deepEqual([web?.open, web?.rates?.opened, web?.rates?.failed, web?.rates?.up], [3, 10, 2, 1_000]);
  assert.deepEqual(web?.connect, { p50: 2, p95: 2, p99: 2 });
  state.figures = figuresOf(5, 0);
  state.now += 5_000;
  await watcher.read();
  const points = watcher.history.read('key:web', 'opened', 10, state.now - 60_000, state.now)?.points ?? [];
  assert.equal(
    points.reduce((sum, [, value]) => sum + (value ?? 0), 0),
    55,
  );
});

test('a key without traffic since the last sample has no counts, and failures are counted by reason', async () => {
  const { state, watcher } = await afterTraffic();
  const web = (): (typeof watcher.keys)[number] | undefined => watcher.keys.find(({ key }) => key === 'web');
  assert.deepEqual([web()?.failures, web()?.connect?.p50], [{ refused: 10 }, 2]);
  for (let at = 0; at < 12; at += 1) {
    state.now += 5_000;
    await watcher.read();
  }
  assert.deepEqual([web()?.failures, web()?.connect, web()?.rates?.failed], [undefined, undefined, 0]);
});
