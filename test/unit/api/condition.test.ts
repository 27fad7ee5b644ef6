import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeConditions, type Condition, type ConditionNow } from '../../../src/api/condition.ts';

const at = { now: '2026-01-02T00:00:00Z', generation: 3 };
const ready: ConditionNow = { type: 'Ready', status: 'True', reason: 'Ready', message: 'OK' };
const before: Condition = { ...ready, observedGeneration: 2, lastTransitionTime: '2026-01-01T00:00:00Z' };

for (const [name, previous, lastTransitionTime] of [
  ['is new', [], at.now],
  ['holds as before', [before], before.lastTransitionTime],
  ['holds as before, for another reason', [{ ...before, reason: 'Other', message: 'other' }], before.lastTransitionTime],
  ['did not hold before', [{ ...before, status: 'False' }], at.now],
] as const) {
  test(`a condition that ${name} has the time of its last change, and the generation of now`, () => {
    assert.deepEqual(mergeConditions(previous, [ready], at), [{ ...before, observedGeneration: 3, lastTransitionTime }]);
  });
}

test('conditions of others stay, after our own', () => {
  const theirs = { ...before, type: 'TheirReady' };
  assert.deepEqual(
    mergeConditions([theirs, before], [ready], at).map(({ type }) => type),
    ['Ready', 'TheirReady'],
  );
});

test('a message stays on one line and short, whatever it quotes', () => {
  const message = mergeConditions([], [{ ...ready, message: `a\r\n\u001B[31m\u0085\u2028${'x'.repeat(5000)}` }], at)[0]?.message ?? '';
  assert.equal(message.length, 1024);
  assert.doesNotMatch(message, /[\p{Cc}\u2028\u2029]/u);
});

test('without a generation none is claimed', () => {
  assert.equal('observedGeneration' in (mergeConditions([], [ready], { ...at, generation: undefined })[0] ?? {}), false);
});
