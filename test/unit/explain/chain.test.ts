import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explainChain, worstOf } from '../../../src/explain/chain.ts';
import type { Check } from '../../../src/explain/chain.ts';
import type { StepState } from '../../../src/explain/step.ts';

const NOW = new Date('2026-01-02T03:04:05Z');

const check = (id: string, state: StepState, more: Partial<Check> = {}): Check => ({
  id,
  object: 'Link/east',
  run: () => ({ id, state, object: 'Link/east', says: `${id} is ${state}` }),
  ...more,
});

suite('an explanation', () => {
  test('names the first failing step as its cause and skips the steps after it', () => {
    const explanation = explainChain('Link/east', [check('a', 'pass'), check('b', 'fail'), check('c', 'fail')], NOW);
    assert.equal(explanation.cause?.id, 'b');
    assert.equal(explanation.verdict, 'fail');
    assert.deepEqual(
      explanation.steps.map(({ id, state }) => [id, state]),
      [
        ['a', 'pass'],
        ['b', 'fail'],
        ['c', 'skip'],
      ],
    );
    assert.equal(explanation.asOf, '2026-01-02T03:04:05.000Z');
  });

  test('runs an independent check after a failure', () => {
    const explanation = explainChain('Link/east', [check('a', 'fail'), check('history', 'warn', { independent: true })], NOW);
    assert.equal(explanation.steps.at(1)?.state, 'warn');
  });

  test('has a waiting step as its cause if no step fails', () => {
    const explanation = explainChain('Link/east', [check('a', 'wait'), check('b', 'unknown')], NOW);
    assert.equal(explanation.cause?.id, 'a');
    assert.equal(explanation.verdict, 'wait');
  });

  test('has no cause if all steps pass or are unknown', () => {
    const explanation = explainChain('Link/east', [check('a', 'pass'), check('b', 'unknown')], NOW);
    assert.equal(explanation.cause, undefined);
    assert.equal(explanation.verdict, 'unknown');
  });
});

test('the worst of no states is pass', () => assert.equal(worstOf([]), 'pass'));
