import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LatestChanges } from '../../../src/console/latest-changes.ts';
import { anyText } from '../support/any-text.ts';
import { memoryState, memoryWatcher } from './memory-sources.ts';

const change = (at: string, given: object = {}): object => ({
  at,
  kind: 'Listener',
  name: 'web',
  type: 'Matched',
  status: 'False',
  before: 'True',
  reason: 'NoConnector',
  message: 'None.',
  ...given,
});

test('a console that starts shows changes from before', async () => {
  const state = memoryState();
  state.changes = { version: 'e-2', items: [change('2025-12-31T23:50:00Z'), change('2025-12-31T23:40:00Z', { name: 'db' })] };
  const watcher = memoryWatcher(state);
  await watcher.read();
  assert.deepEqual(
    watcher.overview().changes.map(({ name, reason }) => [name, reason]),
    [
      ['web', 'NoConnector'],
      ['db', 'NoConnector'],
    ],
  );
});

test('changes of several routers are in order of time, and each is asked for once', () => {
  const changes = new LatestChanges();
  assert.equal(changes.pathFor('one'), '/v1/changes');
  changes.add('one', { version: 'e-1', items: [change('2026-01-01T00:00:02Z')] });
  changes.add('two', { version: 'f-1', items: [change('2026-01-01T00:00:03Z'), change('2026-01-01T00:00:01Z')] });
  changes.add('one', { version: 'e-1', items: [] });
  assert.deepEqual(
    changes.items.map(({ at }) => at.slice(-3, -1)),
    ['03', '02', '01'],
  );
  assert.equal(changes.pathFor('one'), '/v1/changes?since=e-1');
});

test('Ready is left out if another condition of the object changed at the same time', () => {
  const changes = new LatestChanges();
  const at = '2026-01-01T00:00:02Z';
  changes.add('one', { version: 'e-3', items: [change(at, { type: 'Ready' }), change(at), change(at, { type: 'Ready', name: 'db' })] });
  assert.deepEqual(
    changes.items.map(({ name, type }) => `${name} ${type}`),
    ['web Matched', 'db Ready'],
  );
});

test('any answer of a router gives a bounded number of bounded texts', () => {
  const item = fc.record(
    { at: anyText(), kind: anyText(), name: anyText({ maxLength: 5_000 }), message: fc.anything() },
    { requiredKeys: [] },
  );
  const answer = fc.oneof(fc.anything(), fc.record({ version: anyText(), items: fc.oneof(fc.anything(), fc.array(item)) }));
  fc.assert(
    fc.property(fc.array(answer), (answers) => {
      const changes = new LatestChanges();
      for (const each of answers) changes.add('one', each);
      assert.ok(changes.items.length <= 20);
      for (const { name, message } of changes.items) assert.ok(name.length <= 253 && message.length <= 1_024 && !/\p{Cc}/u.test(name));
    }),
  );
});

test('a router without a list of changes leaves the rest of the overview as it is', async () => {
  const state = memoryState();
  state.changes = {};
  const watcher = memoryWatcher(state);
  await watcher.read();
  assert.deepEqual([watcher.overview().changes, watcher.overview().partial, watcher.overview().sites], [[], [], 3]);
});
