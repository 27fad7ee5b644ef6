import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readFigures } from '../../../src/console/read-figures.ts';
import type { ConsoleSources } from '../../../src/console/sources.ts';
import { Watcher } from '../../../src/console/watcher.ts';
import { History } from '../../../src/console/history.ts';
import { NotReadable } from '../../../src/errors/not-readable.ts';
import { anyText } from '../support/any-text.ts';
import { figuresOf, memorySources, memoryState, metricsOf } from './memory-sources.ts';

const item = { key: 'web', role: 'listener', open: 1, opened: 7, requests: 5, errors: 2 };

test('figures of a key are counts, failures by reason, and latencies', () => {
  const figures = {
    eventLoopDelay: 4,
    certificates: [{ bundle: 'east', days: 3 }],
    items: [{ ...item, failed: { refused: 2, timeout: 1, never: 0 }, bytes: { up: 10, down: 20 }, connect: [[2, 7]], request: [[4, 5]] }],
  };
  const { keys, certificates, eventLoopDelay } = readFigures(figures, 10) ?? assert.fail('they are figures');
  const sample = {
    opened: 7,
    failed: 3,
    up: 10,
    down: 20,
    open: 1,
    requests: 5,
    errors: 2,
    failures: new Map([
      ['refused', 2],
      ['timeout', 1],
    ]),
    connect: new Map([[2, 7]]),
    request: new Map([[4, 5]]),
  };
  assert.deepEqual([...keys], [{ key: 'web', role: 'listener', sample }]);
  assert.deepEqual([[...certificates], eventLoopDelay], [[['east', 3]], 0.004]);
});

test('figures are of a bounded number of keys, each with a name of bounded length', () => {
  const items = ['x'.repeat(2_000), ...Array.from({ length: 20 }, (_, at) => `key-${at}`)].map((key) => ({ ...item, key }));
  const { keys } = readFigures({ items }, 10) ?? assert.fail('they are figures');
  assert.deepEqual(
    [...keys].map(({ key }) => key),
    Array.from({ length: 9 }, (_, at) => `key-${at}`),
  );
});

test('an answer without a list has no figures', () => {
  for (const answer of [undefined, null, {}, [], { items: {} }]) assert.equal(readFigures(answer, 10), undefined);
});

test('any answer of a router gives counts that are finite and not negative', () => {
  const any = fc.oneof(fc.anything(), fc.double(), anyText({ maxLength: 100 }));
  const names = ['key', 'role', 'open', 'opened', 'failed', 'bytes', 'requests', 'errors', 'connect', 'request'];
  const listener = { key: fc.constant('web'), role: fc.constant('listener') };
  const someItem = fc.record({ ...Object.fromEntries(names.map((name) => [name, any])), ...listener }, { requiredKeys: ['key', 'role'] });
  const failed = fc.record({ ...listener, failed: fc.dictionary(fc.string(), any) });
  const answer = fc.record({
    items: fc.array(fc.oneof(someItem, failed, any)),
    certificates: fc.oneof(any, fc.array(any)),
    eventLoopDelay: any,
  });
  fc.assert(
    fc.property(answer, (given) => {
      for (const { failures, connect, request, ...counts } of [...(readFigures(given, 10)?.keys ?? [])].map(({ sample }) => sample))
        for (const count of [
          ...Object.values(counts),
          ...(failures?.values() ?? []),
          ...(connect?.values() ?? []),
          ...(request?.values() ?? []),
        ])
          assert.ok(Number.isFinite(count) && count >= 0, String(count));
    }),
  );
});

function watcherOf(sources: ConsoleSources): Watcher {
  const place = { where: 'here', namespace: 'west', isMachine: true, version: '1' };
  return new Watcher(sources, { place, history: new History(2 ** 20) });
}

/** Open connections, rate and median of the key `web` after two samples. */
async function webAfterTraffic(change: (sources: ConsoleSources) => ConsoleSources, isOlder = false): Promise<readonly unknown[]> {
  const state = memoryState();
  if (isOlder) state.figures = undefined;
  const watcher = watcherOf(change(memorySources(state)));
  await watcher.read();
  if (!isOlder) state.figures = figuresOf(50, 10);
  state.metrics = metricsOf(50, 10);
  state.now += 5_000;
  await watcher.read();
  const web = watcher.keys.find(({ key }) => key === 'web');
  return [web?.open, web?.rates?.opened, web?.rates?.failed, web?.connect?.p50];
}

test('figures come from one request, without the metrics', async () => {
  const withoutMetrics = (sources: ConsoleSources): ConsoleSources => ({ ...sources, metrics: () => assert.fail('the metrics are read') });
  assert.deepEqual(await webAfterTraffic(withoutMetrics), [3, 10, 2, 2]);
});

test('figures of an older router come from its metrics', async () => {
  assert.deepEqual((await webAfterTraffic((sources) => sources, true)).slice(0, 3), [3, 10, 2]);
});

test('figures of routers whose API may not be read come from their metrics', async () => {
  const withoutApi = (sources: ConsoleSources): ConsoleSources => ({
    ...sources,
    ask: async (router, path) => {
      if (path === '/v1/figures') throw new NotReadable('your user may not create pods/portforward');
      return sources.ask(router, path);
    },
  });
  assert.deepEqual((await webAfterTraffic(withoutApi)).slice(0, 3), [3, 10, 2]);
});

test('a router whose figures are late is not asked for its metrics too', async () => {
  let asked = 0;
  const late = (sources: ConsoleSources): ConsoleSources => ({
    ...sources,
    ask: (router, path) => (path === '/v1/figures' ? Promise.reject(new Error('timed out')) : sources.ask(router, path)),
    metrics: async () => void (asked += 1),
  });
  assert.deepEqual(await webAfterTraffic(late), [undefined, undefined, undefined, undefined]);
  assert.equal(asked, 0);
});
