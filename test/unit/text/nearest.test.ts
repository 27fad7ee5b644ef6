import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest, sortByDistance } from '../../../src/text/nearest.ts';

const kinds = ['Site', 'Listener', 'MultiKeyListener', 'Connector', 'Link'];

for (const [text, meant] of [
  ['Listner', 'Listener'],
  ['listener', 'Listener'],
  ['Listeners', 'Listener'],
  ['Conector', 'Connector'],
  ['Connectro', 'Connector'],
  ['Lnik', 'Link'],
  ['Pod', undefined],
  ['', undefined],
  ['Service', undefined],
  ['x'.repeat(100_000), undefined],
] as const) {
  test(`${text.slice(0, 20)} may mean ${meant ?? 'nothing'}`, () => assert.equal(nearest(text, kinds), meant));
}

test('of two names that differ only in case, the one written like the text is meant', () => {
  assert.equal(nearest('wbe', ['Web', 'web']), 'web');
  assert.equal(nearest('WBE', ['web', 'WEB']), 'WEB');
});

for (const [text, expected] of [
  ['web-internl', ['web-internal', 'web-external', 'a']],
  ['WEB-EXTERNAL', ['web-external', 'web-internal', 'a']],
  ['', ['a', 'web-external', 'web-internal']],
  ['x'.repeat(100_000), ['a', 'web-external', 'web-internal']],
] as const) {
  test(`the names that are most similar to ${text.slice(0, 20) || 'an empty text'} come first`, () => {
    assert.deepEqual(sortByDistance(text, ['web-internal', 'web-external', 'a']), expected);
  });
}
