import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from '../../../src/text/nearest.ts';

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
