import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { siteIdOf } from '../../../src/identity/site-id.ts';
import { generateSiteKey, siteKeyFrom, verifySignature } from '../../../src/identity/site-key.ts';

// RFC 8032 section 7.1, test 2.
const secret = '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb';
const known = {
  pem: `-----BEGIN PRIVATE KEY-----\n${Buffer.from(`302e020100300506032b657004220420${secret}`, 'hex').toString('base64')}\n-----END PRIVATE KEY-----\n`,
  publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
  signature:
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
};

test('a site id is a UUID of version 8 made from the public key alone', () => {
  const id = siteIdOf(Buffer.from(known.publicKey, 'hex'));
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  // SHA-256 of the key begins 39f713d0a644253f04529421b9f51b9b.
  assert.equal(id, '39f713d0-a644-853f-8452-9421b9f51b9b');
});

test('a key is read from PKCS #8 and signs as RFC 8032 says', () => {
  const key = siteKeyFrom(known.pem);
  assert.equal(key.publicKey.toString('hex'), known.publicKey);
  assert.equal(key.sign(Buffer.of(0x72)).toString('hex'), known.signature);
});

test('a new key survives being kept as text', () => {
  const created = generateSiteKey();
  const read = siteKeyFrom(created.pem);
  assert.deepEqual(read.publicKey, created.key.publicKey);
  const message = Buffer.from('a record');
  assert.ok(verifySignature(created.key.publicKey, message, read.sign(message)));
});

test('a signature of another key or over other bytes is not taken', () => {
  const { key } = generateSiteKey();
  const other = generateSiteKey().key;
  const message = Buffer.from('a record');
  const signature = key.sign(message);
  assert.ok(!verifySignature(other.publicKey, message, signature));
  assert.ok(!verifySignature(key.publicKey, Buffer.from('a recorD'), signature));
  assert.ok(!verifySignature(key.publicKey, message, signature.subarray(1)));
  assert.ok(!verifySignature(key.publicKey.subarray(1), message, signature));
  assert.ok(!verifySignature(Buffer.alloc(32, 0xff), message, signature));
});

test('a text that is no Ed25519 key is refused without repeating any of it', () => {
  const rsa = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  for (const text of ['', 'secret words', known.pem.slice(0, 60), rsa]) {
    assert.throws(
      () => siteKeyFrom(text),
      (error: unknown) =>
        error instanceof Error && 'code' in error && error.code === 'site-key' && (text === '' || !error.message.includes(text)),
    );
  }
});
