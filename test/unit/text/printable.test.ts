import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { writeYaml } from '../../../src/text/write-yaml.ts';
import { anyText } from '../support/any-text.ts';
import { firstBytes, isOneLine, printable, printableAscii, quoted, shortened, visibleJson } from '../../../src/text/printable.ts';

describe('untrusted text', () => {
  for (const [what, text, expected, ascii, inQuotes] of [
    ['plain text', 'a "b" c', 'a "b" c', 'a "b" c', '"a \\"b\\" c"'],
    ['other languages', 'Zürich 東京', 'Zürich 東京', 'Z?rich ??', '"Zürich 東京"'],
    ['line breaks', 'a\r\n\tb\u0085c\u2028d\u2029e', 'a b c d e', 'a???b?c?d?e', '"a\\r\\n\\tb\\u{85}c\\u{2028}d\\u{2029}e"'],
    [
      'commands to a terminal',
      '\u001b[2Ja\u009b1m\u007f\0',
      '\\u{1b}[2Ja\\u{9b}1m\\u{7f}\\u{0}',
      '?[2Ja?1m??',
      '"\\u001b[2Ja\\u{9b}1m\\u{7f}\\u0000"',
    ],
    ['what turns a line round', 'a\u202eb\u2066\u200f', 'a\\u{202e}b\\u{2066}\\u{200f}', 'a?b??', '"a\\u{202e}b\\u{2066}\\u{200f}"'],
    [
      'what hides',
      'pay\u200bpal\ufeff\u{e0041}',
      'pay\\u{200b}pal\\u{feff}\\u{e0041}',
      'pay?pal???',
      '"pay\\u{200b}pal\\u{feff}\\u{e0041}"',
    ],
    ['half a character', 'a\ud83d', 'a\\u{d83d}', 'a?', '"a\\ud83d"'],
  ] as const) {
    it(`is fit to be shown: ${what}`, () => {
      assert.deepEqual([printable(text), printableAscii(text), quoted(text)], [expected, ascii, inQuotes]);
    });
  }

  it('shows all of itself in JSON and YAML, which give it back', () => {
    assert.equal(visibleJson({ 'a\n': '\u009b1m\u202e\u{e0041}' }, 1), '{\n "a\\n": "\\u009b1m\\u202e\\udb40\\udc41"\n}');
    fc.assert(
      fc.property(anyText({ maxLength: 60 }), (text) => {
        const [json, yaml] = [visibleJson([text], 2), writeYaml([text])];
        assert.deepEqual([JSON.parse(json), parse(yaml)], [[text], [text]]);
        assert.doesNotMatch(json + yaml, /[^\P{C}\n]|\p{Zl}|\p{Zp}/u);
      }),
    );
  });

  it('is one line within its bounds, whatever it is', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 60 }), fc.integer({ min: 1, max: 70 }), (text, most) => {
        const shown = printable(text, most);
        assert.ok(shown.length <= most && !/[\p{C}\p{Zl}\p{Zp}]/u.test(shown));
        assert.match(printableAscii(text, most), /^[ -~]*$/);
        assert.ok(printableAscii(text, most).length <= most + 3);
        assert.doesNotMatch(quoted(text, most), /[\p{C}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('is cut between characters', () => {
    assert.equal(shortened('abcd', 4), 'abcd');
    assert.equal(shortened('abcde', 4), 'abc…');
    assert.equal(shortened('ab💥de', 4), 'ab…');
    assert.equal(printableAscii('x'.repeat(500), 400), `${'x'.repeat(400)}...`);
    assert.equal(firstBytes('ab💥', 5), 'ab');
    assert.equal(firstBytes('ab💥', 6), 'ab💥');
  });

  it('is a name only where it is one line that UTF-8 can say', () => {
    for (const text of ['', 'a b', 'Zürich', '\u202ea']) assert.ok(isOneLine(text), text);
    for (const text of ['a\n', '\0', '\u0085', '\u2028', '\u2029', '\ud800']) assert.ok(!isOneLine(text), JSON.stringify(text));
  });
});
