import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { anyCharacter } from '../support/any-text.ts';
import { writeYaml } from '../../../src/text/write-yaml.ts';

test('written YAML is read back unchanged, for any texts', () => {
  const data = fc.jsonValue({ depthSize: 'medium', maxDepth: 5, stringUnit: anyCharacter });
  fc.assert(
    fc.property(data, (value) => {
      // -0 is 0 in JSON and YAML alike.
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(JSON.parse(JSON.stringify(parse(writeYaml(plain)))), plain);
    }),
    { numRuns: 50 },
  );
});

test('words that YAML takes for something else are quoted', () => {
  const words = [
    'true',
    'No',
    'null',
    '~',
    '1',
    '1.5',
    '0x10',
    '1e3',
    '-',
    '- a',
    'a: b',
    'a:',
    '#',
    'a #b',
    '',
    ' ',
    '@x',
    '2026-01-01',
    '.inf',
    '=',
    '<<',
    '!x',
    '&a',
    '*a',
  ];
  assert.deepEqual(parse(writeYaml({ words, key: Object.fromEntries(words.map((word) => [word, word])) })), {
    words,
    key: Object.fromEntries(words.map((word) => [word, word])),
  });
});

test('a certificate stays readable', () => {
  const pem = `-----BEGIN CERTIFICATE-----\n${'A'.repeat(64)}\n${'B'.repeat(20)}\n-----END CERTIFICATE-----\n`;
  const written = writeYaml({ spec: { ca: pem } });
  assert.match(written, /ca: \|\n {4}-----BEGIN/);
  assert.deepEqual(parse(written), { spec: { ca: pem } });
});

test('a resource is indented as people write it', () => {
  assert.equal(
    writeYaml({ kind: 'Link', spec: { endpoints: [{ host: 'a', port: '1' }], left: undefined, none: [] } }),
    'kind: Link\nspec:\n  endpoints:\n  - host: a\n    port: "1"\n  none: []\n',
  );
});
