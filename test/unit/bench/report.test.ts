import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { outcomeOf, verdictOf, type Figure } from '../../../bench/cluster/figures.ts';
import { replaceBlock } from '../../../bench/markdown.ts';

const figure: Figure = {
  id: 'ready-seconds',
  scenario: 'listeners',
  what: 'time | until ready',
  unit: 's',
  by: 'median',
  samples: 3,
  limit: 2,
};
describe('a figure', () => {
  it('is met at its limit, and missed by what is over it', () => {
    assert.equal(verdictOf(figure, outcomeOf(figure, [2, 1, 9], undefined)), 'met');
    assert.equal(verdictOf(figure, outcomeOf(figure, [2.5, 1, 9], undefined)), 'missed by 0.5 s (25 %)');
    assert.equal(verdictOf({ ...figure, unit: '', limit: 0 }, outcomeOf(figure, [3], undefined)), 'missed by 3');
  });

  it('stands for the median, or for the 99th percentile where that is asked for', () => {
    const samples = [5, 1, 3];
    const values = (['median', 'p99'] as const).map((by) => outcomeOf({ ...figure, by }, samples, undefined));
    const shown = values.map((outcome) => outcome.kind === 'measured' && [outcome.value, outcome.least, outcome.most, outcome.count]);
    assert.deepEqual(shown, [
      [3, 1, 5, 3],
      [5, 1, 5, 3],
    ]);
  });

  it('is failed without a sample, and incomplete where its scenario broke off before it had all', () => {
    assert.deepEqual(outcomeOf(figure, [], 'no cluster'), { kind: 'failed', why: 'no cluster' });
    assert.equal(verdictOf(figure, outcomeOf(figure, [1], 'no cluster')), 'incomplete');
    assert.equal(verdictOf(figure, outcomeOf(figure, [1, 1, 1], 'no cluster')), 'met', 'it had all that it needs');
    assert.equal(outcomeOf(figure, [], undefined).kind, 'not-asked');
  });
});

describe('the report', () => {
  it('takes the place of what stood between the marks, and touches nothing else', () => {
    const [BEGIN, END] = ['<!-- some:begin -->', '<!-- some:end -->'];
    const document = `before\n${BEGIN}\nold\n${END}\nafter\n`;
    const changed = replaceBlock(document, 'some', 'new $& text');
    assert.equal(changed, `before\n${BEGIN}\nnew $& text\n${END}\nafter\n`);
    assert.equal(replaceBlock(changed, 'some', 'old'), document);
    assert.throws(() => replaceBlock('no marks', 'some', 'text'), /lacks/);
    assert.throws(() => replaceBlock(`${END} ${BEGIN}`, 'some', 'text'), /lacks/);
  });
});
