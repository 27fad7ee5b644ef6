import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConditionChanges, listConditionChanges, type ConditionChange } from '../../../src/agent/condition-changes.ts';
import type { AnyStatus } from '../../../src/site/observe/observe.ts';
import type { ResourceKey } from '../../../src/site/resources.ts';

const at = '2026-01-01T00:00:00Z';

type Statuses = ReadonlyMap<ResourceKey, AnyStatus>;

function statuses(
  ...all: readonly (readonly [ResourceKey, type: string, status: 'True' | 'False', reason: string, message?: string])[]
): Statuses {
  return new Map(
    all.map(([resource, type, status, reason, message = '']) => [
      resource,
      { status: 'Ready', message, conditions: [{ type, status, reason, message, lastTransitionTime: at }] },
    ]),
  );
}

const shown = (before: Statuses, now: Statuses): readonly string[] =>
  listConditionChanges(before, now, at).map((change) => `${change.kind}/${change.name} ${change.type} ${change.before} ${change.status}`);

test('a condition has changed if it is new, or if its status or reason differs', () => {
  const before = statuses(['Listener/web', 'Matched', 'True', 'Matched'], ['Link/east', 'Operational', 'False', 'Refused']);
  assert.deepEqual(shown(before, before), []);
  const again = statuses(['Listener/web', 'Matched', 'True', 'Matched', 'other words'], ['Link/east', 'Operational', 'False', 'Timeout']);
  assert.deepEqual(shown(before, again), ['Link/east Operational False False']);
  const later = statuses(['Listener/web', 'Matched', 'False', 'NoConnector'], ['Listener/db', 'Matched', 'True', 'Matched']);
  assert.deepEqual(shown(before, later), ['Listener/web Matched True False', 'Listener/db Matched null True']);
});

test('the last 512 changes are kept, the latest first', () => {
  const changes = new ConditionChanges();
  const change = (number: number): ConditionChange => ({
    at,
    kind: 'Listener',
    name: String(number),
    type: 'Matched',
    status: 'True',
    before: null,
    reason: 'Matched',
    message: '',
  });
  for (let number = 1; number <= 600; number += 1) changes.add([change(number)]);
  const { items, total, latest } = changes.after(0);
  assert.deepEqual([items.length, items[0]?.name, items.at(-1)?.name, total, latest], [512, '600', '89', 512, 600]);
  assert.deepEqual(
    changes.after(598).items.map(({ name }) => name),
    ['600', '599'],
  );
  changes.add(Array.from({ length: 2_000 }, (_, index) => change(index)));
  assert.deepEqual([changes.after(0).items.length, changes.after(0).items[0]?.name], [512, '1999']);
});
