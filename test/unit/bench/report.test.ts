import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { outcomeOf, verdictOf, type Figure } from '../../../bench/cluster/figures.ts';
import { figuresOf } from '../../../bench/exposure/figures.ts';
import { FULL, isFull, parseOptions, SCENARIOS } from '../../../bench/exposure/options.ts';
import { report, type Circumstances } from '../../../bench/cluster/report.ts';
import { format, replaceBlock } from '../../../bench/markdown.ts';

const figure: Figure = {
  id: 'ready-seconds',
  scenario: 'listeners',
  what: 'time | until ready',
  unit: 's',
  by: 'median',
  samples: 3,
  limit: 2,
};
const on: Circumstances = {
  date: '2026-01-31',
  commit: 'abc1234',
  cpu: 'Example CPU',
  cores: 2,
  memoryGigabytes: 24,
  kernel: '6.1',
  kubernetes: 'v1.36.3',
  node: '26.10.0',
  command: 'node bench/exposure/main.ts',
  loadBefore: 0.1,
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

  it('shows three digits that count', () => {
    const values = [0, 3, 1_000, 0.04567, 1.7, 72.94, 123.4, 2_345.6];
    assert.deepEqual(
      values.map((value) => format(value, '')),
      ['0', '3', '1,000', '0.0457', '1.7', '72.9', '123', '2,346'],
    );
    assert.equal(format(1.5, 'MB'), '1.5 MB');
  });

  it('has an id of its own, and a scenario that exists', () => {
    const figures = figuresOf(FULL);
    assert.equal(new Set(figures.map(({ id }) => id)).size, figures.length);
    for (const { scenario } of figures) assert.ok(SCENARIOS.includes(scenario));
  });
});

describe('the report', () => {
  const explaining: Figure = { ...figure, id: 'why' };
  const { limit: _limit, ...unlimited } = explaining;

  it('shows aims apart from what explains them, and what was not asked for not at all', () => {
    const text = report(
      [
        { figure, outcome: outcomeOf(figure, [1.25, 1, 2], undefined) },
        { figure: unlimited, outcome: outcomeOf(unlimited, [0.5], undefined) },
        { figure: { ...figure, what: 'left out' }, outcome: { kind: 'not-asked' } },
      ],
      on,
    );
    assert.match(text, /\| time \\\| until ready \| ≤ 2 s \| 1\.25 s \| 1 to 2 s \(3\) \| met \|/);
    assert.match(text, /All 1 are met\.[^]*What stands behind them:[^]*\| time \\\| until ready \| 0\.5 s \| 0\.5 s \(1\) \|/);
    assert.doesNotMatch(text, /left out/);
  });

  it('says what failed and why, once for each scenario', () => {
    const text = report(
      [
        { figure, outcome: outcomeOf(figure, [1], 'the pod | is gone\nand more') },
        { figure: { ...figure, id: 'other' }, outcome: outcomeOf(figure, [], 'the pod | is gone\nand more') },
      ],
      on,
    );
    assert.match(text, /1 s \(1 of 3\) \| incomplete \|/);
    assert.match(text, /\| failed \| {2}\| failed \|/);
    assert.match(text, /0 of 2 are met\./);
    assert.equal(text.split('the pod | is gone').length, 2);
  });

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

describe('the options', () => {
  it('are those of a whole run at full size unless told', () => {
    const options = parseOptions([]);
    assert.ok(options !== undefined && isFull(options));
    for (const less of [
      ['--listeners', '20'],
      ['--only', 'idle'],
      ['--rounds', '1'],
      ['--listeners', '2000'],
    ]) {
      const smaller = parseOptions(less);
      assert.ok(smaller !== undefined && !isFull(smaller), less.join(' '));
    }
    const more = parseOptions(['--rounds', '5']);
    assert.ok(more !== undefined && isFull(more));
  });

  it('are refused by name where they are wrong', () => {
    assert.throws(() => parseOptions(['--only', 'listeners,nonsense']), /nonsense/);
    assert.throws(() => parseOptions(['--rounds', '0']), /--rounds 0/);
    assert.throws(() => parseOptions(['--listeners', '1']), /from 2 on/);
    assert.throws(() => parseOptions(['--pods', '1.5']), /--pods 1\.5/);
  });
});
