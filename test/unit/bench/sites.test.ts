import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureAll } from '../../../bench/cluster/measure.ts';
import { figuresOf } from '../../../bench/sites/figures.ts';
import { FULL, isFull, parseOptions, SCENARIOS } from '../../../bench/sites/options.ts';

describe('a figure of sites', () => {
  it('has an id of its own, and a scenario that exists, whatever the sizes', () => {
    for (const sizes of [[500], [20, 40, 60]] as const) {
      const figures = figuresOf({ ...FULL, sizes });
      assert.equal(new Set(figures.map(({ id }) => id)).size, figures.length);
      for (const { scenario } of figures) assert.ok(SCENARIOS.includes(scenario));
      for (const size of sizes) assert.ok(figures.some(({ id }) => id === `ready-${size}`));
    }
  });

  it('is aimed at for the first size only', () => {
    const aims = figuresOf({ ...FULL, sizes: [500, 2_000] }).filter(({ id, limit }) => id.startsWith('ready-') && limit !== undefined);
    assert.deepEqual(
      aims.map(({ id, limit }) => [id, limit]),
      [['ready-500', 15]],
    );
  });
});

describe('the options of sites', () => {
  it('are those of a whole run at full size unless told', () => {
    const options = parseOptions([]);
    assert.ok(options !== undefined && isFull(options));
    for (const less of [
      ['--sizes', '500'],
      ['--only', 'idle'],
      ['--rounds', '1'],
      ['--sites', '10'],
      ['--changes', '3'],
    ]) {
      const smaller = parseOptions(less);
      assert.ok(smaller !== undefined && !isFull(smaller), less.join(' '));
    }
  });

  it('are refused by name where they are wrong', () => {
    assert.deepEqual(parseOptions(['--sizes', '10, 20'])?.sizes, [10, 20]);
    for (const [option, value] of [
      ['--sizes', '10,none'],
      ['--sizes', ''],
      ['--sites', '1'],
      ['--only', 'many,nonsense'],
    ] as const) {
      assert.throws(() => parseOptions([option, value]), new RegExp(option));
    }
  });
});

describe('scenarios', () => {
  const figure = { id: 'a', what: 'a', unit: 's', by: 'median', samples: 2 } as const;
  const figures = [
    { ...figure, scenario: 'first' },
    { ...figure, scenario: 'second', id: 'b' },
  ] as const;

  it('run one after the other, and one that fails says so in its figures alone', async () => {
    const cleared: string[] = [];
    const { results, isWhole, remarks } = await measureAll({
      figures,
      names: ['first', 'second'],
      log: () => {},
      clear: async () => void cleared.push('cleared'),
      run: async (name, { record, tell }) => {
        record(name === 'first' ? 'a' : 'b', 1);
        if (name === 'first') throw new Error('no cluster');
        record('b', 3);
        tell('odd');
      },
    });
    assert.deepEqual(
      results.map(({ outcome }) => outcome.kind === 'measured' && [outcome.value, outcome.brokeOff]),
      [
        [1, 'no cluster'],
        [2, undefined],
      ],
    );
    assert.deepEqual([cleared, isWhole, remarks], [['cleared'], false, ['odd']]);
  });
});
