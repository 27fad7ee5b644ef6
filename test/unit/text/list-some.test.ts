import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listFirst, listSome } from '../../../src/text/list-some.ts';

for (const [texts, some, first] of [
  [[], '', ''],
  [['a'], 'a', 'a'],
  [['a', 'b'], 'a, b', 'a, b'],
  [['a', 'b', 'c', 'd'], 'a, b and 2 more', 'a, b, …'],
] as const)
  test(`of ${texts.length} texts at most two are listed`, () => {
    assert.deepEqual([listSome(texts, 2), listFirst(texts, 2)], [some, first]);
  });
