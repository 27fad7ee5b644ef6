import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Figure } from '../../../bench/connection/figures.ts';
import { gateTable, gateVerdict, ratioOf } from '../../../bench/gate-ratios.ts';

describe('a figure of two revisions', () => {
  it('is compared round by round', () => {
    assert.deepEqual(ratioOf([2, 30, 8], [1, 10, 4]), { median: 2, least: 2, most: 3 });
    assert.equal(ratioOf([1], undefined), undefined);
  });

  it('is better or worse only if its median differs by more than 5 %, and every round agrees', () => {
    const verdict = (unit: 'a second' | 'MB', current: number[]): string => gateVerdict(unit, { current, baseline: [10, 10, 10] });
    assert.equal(verdict('MB', [11, 12, 13]), 'worse');
    assert.equal(verdict('a second', [11, 12, 13]), 'better');
    assert.equal(verdict('a second', [9, 9, 8]), 'worse');
    assert.equal(verdict('MB', [9.9, 12, 13]), 'equal', 'one round disagrees');
    assert.equal(verdict('MB', [10.4, 10.4, 10.4]), 'equal', 'it is too little');
    assert.equal(gateVerdict('MB', { current: [1] }), 'not measured');
  });

  it('has a row if it was measured', () => {
    const figures: Figure[] = [
      { id: 'memory', scenario: 'memory', what: 'memory', unit: 'MB' },
      { id: 'bulk', scenario: 'bulk', what: 'iperf3', unit: 'Gbit/s' },
    ];
    const samples = new Map([['memory', { baseline: [10, 10], current: [12, 14], haproxy: [4, 4] }]]);
    assert.deepEqual(gateTable(figures, samples, 'v1').slice(2), [
      '| memory, MB | 10 | 13 | 1.3 × (1.2 to 1.4) | worse | 4 | 3.25 × (3 to 3.5) |',
    ]);
  });
});
