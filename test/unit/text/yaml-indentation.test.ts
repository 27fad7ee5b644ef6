import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseResources } from '../../../src/platform/linux/parse.ts';
import { writeYaml } from '../../../src/text/write-yaml.ts';
import { misindented } from '../../../src/text/yaml-indentation.ts';

const head = 'apiVersion: skupper.io/v2alpha1\nkind: Listener\nmetadata:\n  name: web\nspec:\n';

const wrong: readonly (readonly [what: string, text: string, line: number, message: string])[] = [
  ['one space more', `${head}  routingKey: web\n   host: 127.0.0.1\n  port: 80\n`, 7, 'it is indented by 3 spaces, its neighbours by 2.'],
  ['one space less', `${head}    routingKey: web\n   host: 127.0.0.1\n`, 7, 'it is indented by 3 spaces, its neighbours by 4.'],
  [
    'a field further in than its own text',
    `${head}  routingKey: web\n      host: a\n`,
    7,
    'it is indented by 6 spaces, its neighbours by 2.',
  ],
  ['one space before a list', `a:\n  - b: 1\n   c: 2\n`, 3, 'it is indented by 3 spaces, its neighbours by 4.'],
  ['one space in the second document', `${head}  port: 80\n---\na: 1\n b: 2\n`, 9, 'it is indented by 1 space, its neighbours by 0.'],
  ['remarks and empty lines between', `a:\n  b: 1 # one\n\n # two\n   c: 2\n`, 5, 'it is indented by 3 spaces, its neighbours by 2.'],
];

describe('indentation', () => {
  for (const [what, text, line, message] of wrong) {
    it(`that is wrong is reported with its line: ${what}`, async () => {
      const { problems } = await parseResources(text, 'web.yaml', 'west');
      const told = problems.map((problem) => [problem.line, problem.message]);
      assert.ok(
        told.some(([at, words]) => at === line && words === message),
        JSON.stringify(told),
      );
    });
  }

  for (const [what, line] of [
    ['keys and tags in quotes', `a: "${': !a'.repeat(40_000)} x"`],
    ['a remark of remarks that another separator ends', `a: b${' #'.repeat(80_000)}\u2028`],
    ['dashes that another separator ends', `a: x\n  ${'- '.repeat(80_000)}\u2028x`],
  ] as const) {
    it(`is looked for in no time, however long a line is: ${what}`, () => {
      const before = process.cpuUsage().user;
      misindented(`${line}\nb: 1\n`, 0);
      const spent = (process.cpuUsage().user - before) / 1_000;
      assert.ok(spent < 1_000, `${spent} ms`);
    });
  }

  it('that is right is never to blame', () => {
    const text = `# a remark
a:
- b: 1
  c: |
      any
        thing
  d: >-
    folded
- - e
  - f:
      g: "x: y"
h:
    i: a text
      that goes on
    j: {k: [1, 2]}
---
l: 1
`;
    assert.deepEqual(
      parseAllDocuments(text).flatMap(({ errors }) => errors),
      [],
    );
    assert.equal(misindented(text, text.length), undefined);
    const written = writeYaml({ a: [{ b: 'x\ny\n', c: [[1], { d: {} }] }], e: { f: null, g: 'x: y', h: '' } });
    assert.equal(misindented(written, written.length), undefined, written);
  });

  it('is not guessed at where brackets or quotes go on', () => {
    assert.equal(misindented('a: [1,\n  b: 2\n', 5), undefined);
    assert.equal(misindented('a: "x\n    b: 2\n', 5), undefined);
  });
});
