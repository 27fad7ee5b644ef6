import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSelector, selects, type Labels } from '../../../src/site/plan/label-selector.ts';
import { anyText } from '../support/any-text.ts';

function matches(text: string, labels: Labels): boolean {
  const parsed = parseSelector(text);
  assert.ok('selector' in parsed, JSON.stringify(parsed));
  return selects(parsed.selector, labels);
}

for (const [text, selected, others] of [
  ['', [{}, { app: 'db' }], []],
  ['app=db', [{ app: 'db', tier: 'a' }], [{}, { app: 'web' }]],
  ['app==db', [{ app: 'db' }], [{ app: 'web' }]],
  ['app=', [{ app: '' }], [{}, { app: 'db' }]],
  ['app!=db', [{}, { app: 'web' }], [{ app: 'db' }]],
  ['app', [{ app: '' }, { app: 'db' }], [{}]],
  ['!app', [{}], [{ app: '' }]],
  ['tier in (a, b)', [{ tier: 'a' }, { tier: 'b' }], [{}, { tier: 'c' }]],
  ['tier in (,a)', [{ tier: '' }, { tier: 'a' }], [{}]],
  ['tier notin (a,b)', [{}, { tier: 'c' }], [{ tier: 'a' }]],
  ['size > 3,size<10', [{ size: '4' }, { size: '9' }], [{ size: '3' }, { size: 'many' }, {}]],
  [' app = db , ! canary , tier in ( a ) ', [{ app: 'db', tier: 'a' }], [{ app: 'db', tier: 'a', canary: 'yes' }]],
  ['app.kubernetes.io/name=in,in in (in)', [{ 'app.kubernetes.io/name': 'in', in: 'in' }], [{ in: 'in' }]],
  ['toString', [], [{}]],
] as const satisfies readonly (readonly [string, readonly Labels[], readonly Labels[]])[]) {
  test(`the selector ${JSON.stringify(text)} selects what Kubernetes selects`, () => {
    for (const labels of selected) assert.equal(matches(text, labels), true, JSON.stringify(labels));
    for (const labels of others) assert.equal(matches(text, labels), false, JSON.stringify(labels));
  });
}

for (const [text, wrong] of [
  ['app=db,', 'lacks the key of a label'],
  ['=db', 'lacks the key of a label'],
  ['app db', 'has "db" where =, ==, !=, in, notin, < or > is expected'],
  ['app=db tier=a', 'has "tier" where a comma is expected'],
  ['tier in a', 'lacks a ( after in or notin'],
  ['tier in (a', 'lacks a ) behind its values'],
  ['size > x', 'compares with "x", which is not a whole number'],
  ['-app=db', 'has "-app", which is not a valid label key'],
  [`app=${'x'.repeat(64)}`, `has "${'x'.repeat(64)}", which is not a valid label value`],
  ['!app=db', 'has "=" where a comma is expected'],
] as const) {
  test(`${JSON.stringify(text)} is no selector, and it is said where`, () => {
    assert.deepEqual(parseSelector(text), { wrong });
  });
}

test('any text is a selector or has something wrong', () => {
  fc.assert(
    fc.property(fc.oneof(anyText(), fc.string({ unit: fc.constantFrom('a', 'in', ' ', '=', '!', ',', '(', ')', '<', '1') })), (text) => {
      const parsed = parseSelector(text);
      assert.ok('selector' in parsed || parsed.wrong !== '');
    }),
  );
});
