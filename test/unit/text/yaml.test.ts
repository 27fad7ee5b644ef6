import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWritten, parseYaml } from '../../../src/text/yaml.ts';

const secret = 'correct-horse';

for (const [what, text, message] of [
  ['a bracket that is not closed', `a: 1\ntoken: [${secret}\n`, /^line \d+ is not YAML \(bad indent\)$/],
  ['a key that stands there twice', `a: 1\n${secret}: 1\n${secret}: 2\n`, /^line 3 is not YAML \(duplicate key\)$/],
  ['an alias of nothing', `a: *${secret}\n`, /^line 1 is not YAML \(aliases\)$/],
  ['aliases that explode', `a: &a [${secret}]\nb: [${'*a,'.repeat(60)}]\n`, /^line 1 is not YAML \(aliases\)$/],
  ['too many of them', `a: &a ${secret}\nb: [${'*a,'.repeat(64)}]\n`, /^line 2 is not YAML \(more than 64 anchors/],
  [
    'a chain of colons',
    `a:\n  {${secret}${': b'.repeat(100_000)}}`,
    /^line 2 is not YAML \(too many colons without a comma between them\)$/,
  ],
  ['a row of closing brackets', `a: 1\n${']'.repeat(30)} ${secret}`, /^line 2 is not YAML \(too many brackets close nothing\)$/],
  ['too deep a nest', `${secret}:\n  ${'['.repeat(25)}`, /^line 2 is not YAML \(brackets are nested more than 24 deep\)$/],
] as const) {
  test(`${what} is named by its line, without a word of the text`, () => {
    assert.throws(
      () => parseYaml(text),
      (error: unknown) => {
        assert.ok(error instanceof SyntaxError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, new RegExp(secret));
        return true;
      },
    );
  });
}

test('documents are plain values, and empty ones are none', () => {
  assert.deepEqual(parseYaml(''), []);
  assert.deepEqual(parseYaml('# nothing\n---\n'), []);
  assert.deepEqual(parseYaml('---\na: &x 1\nb: *x\n---\n- 1\n---\n'), [{ a: 1, b: 1 }, [1]]);
});

test('the bounds are for what others wrote', () => {
  const text = '- !!str a\n'.repeat(70);
  assert.throws(() => parseYaml(text), SyntaxError);
  assert.equal(Array.isArray(parseWritten(text)), true);
});
