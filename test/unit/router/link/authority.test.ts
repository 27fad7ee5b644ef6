import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { authorityOf, keyIn } from '../../../../src/router/link/authority.ts';

test('an ordinary routing key is its own authority', () => {
  for (const key of ['backend', 'backend:8080', 'db.west-1_a~b']) assert.equal(authorityOf(key), key);
});

test('any other key is printable ASCII on the wire, and itself again behind it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 253 }), (key) => {
      const authority = authorityOf(key);
      assert.match(authority, /^[\x21-\x7e]*$/);
      assert.equal(keyIn(authority), key);
    }),
  );
  assert.equal(authorityOf('größe 100%'), 'gr%C3%B6%C3%9Fe%20100%25');
});

test('an authority that is no encoded text is no key', () => {
  for (const authority of ['100%', '%ff%fe', '%zz']) assert.equal(keyIn(authority), undefined);
});
