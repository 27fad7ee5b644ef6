import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countFindings, findInDocument, findInSource, listFindings, readDebt, repeatedClasses } from '../../../scripts/language.ts';

const findings = listFindings();
const debt = readDebt();

describe('the language of documents, comments and messages', () => {
  for (const kind of ['word', 'length'] as const) {
    it(`breaks the rule of each ${kind} in no file more often than the debt lists`, () => {
      const more = Object.entries(countFindings(findings, kind)).filter(([file, count]) => count > (debt[kind][file] ?? 0));
      const shown = more.map(([file, count]) => `${file}: ${count} instead of ${debt[kind][file] ?? 0}; node scripts/language.ts ${file}`);
      assert.deepEqual(shown, []);
    });

    it(`has a debt of each ${kind} that lists no more than is left`, () => {
      const counts = countFindings(findings, kind);
      const paid = Object.entries(debt[kind]).filter(([file, count]) => count > (counts[file] ?? 0));
      assert.deepEqual(paid, [], 'lower the list with: node scripts/language.ts --lower');
    });
  }

  it('has no two exported classes of one name beyond those listed', () => {
    assert.deepEqual(repeatedClasses(), [...debt.classes].toSorted());
  });
});

describe('findInDocument', () => {
  it('reports a banned word with its line', () => {
    const found = findInDocument('a.md', 'Fine.\n\nWhoever comes is served.\n');
    assert.deepEqual(found, [{ file: 'a.md', line: 3, kind: 'word', text: 'Whoever' }]);
  });

  it('joins the lines of a paragraph before it counts words', () => {
    const half = 'one two three four five six seven eight nine ten eleven twelve thirteen';
    assert.deepEqual(
      findInDocument('a.md', `${half}\n${half}.\n`).map(({ kind }) => kind),
      ['length'],
    );
    assert.deepEqual(findInDocument('a.md', `${half}.\n${half}.\n`), []);
  });

  it('skips code', () => {
    assert.deepEqual(findInDocument('a.md', '```\nwhoever\n```\n\n    nobody\n\nUse `nobody`.\n'), []);
  });
});

describe('findInSource', () => {
  it('reports comments and messages, and skips identifiers', () => {
    const text = "const told = 1;\n// It tells all.\nthrow new Error('nobody is here');\n";
    assert.deepEqual(
      findInSource('a.ts', text).map(({ line, text: word }) => [line, word]),
      [
        [2, 'tells'],
        [3, 'nobody'],
      ],
    );
  });
});
