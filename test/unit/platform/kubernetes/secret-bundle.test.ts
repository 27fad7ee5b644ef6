import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '../../../../src/kube/objects.ts';
import { bundleOf, dataOf, proxyOf } from '../../../../src/platform/kubernetes/secret-bundle.ts';

function aSecret(texts: Readonly<Record<string, string>>, type?: string): Secret {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
  return { metadata: { name: 'web' }, ...(type === undefined ? {} : { type }), data };
}

for (const [what, secret, expected] of [
  [
    'of the type for TLS',
    aSecret({ 'tls.crt': 'C', 'tls.key': 'K', 'ca.crt': 'A' }, 'kubernetes.io/tls'),
    { cert: 'C', key: 'K', ca: 'A' },
  ],
  ['without an authority', aSecret({ 'tls.crt': 'C', 'tls.key': 'K' }, 'kubernetes.io/tls'), { cert: 'C', key: 'K' }],
  ['whose certificate has yet to come', aSecret({ 'tls.crt': '', 'tls.key': '\n' }, 'kubernetes.io/tls'), {}],
  ['that is Opaque, with an authority', aSecret({ 'ca.crt': 'A', other: 'x' }, 'Opaque'), { ca: 'A' }],
  ['of no type, with an authority', aSecret({ 'ca.crt': 'A' }), { ca: 'A' }],
] as const) {
  test(`a Secret ${what} is a bundle of what it has`, () => {
    assert.deepEqual(bundleOf(secret), { name: 'web', ...expected });
  });
}

for (const [text, priorRevisions] of [
  ['0', 0],
  ['12', 12],
  ['-1', undefined],
  ['two', undefined],
] as const) {
  test(`a Secret says with ${text} how many earlier certificates may be in use`, () => {
    const { metadata, ...secret } = aSecret({ 'ca.crt': 'A' });
    const annotations = { 'skupper.io/tls-prior-valid-revisions': text };
    const found = bundleOf({ ...secret, metadata: { ...metadata, annotations } });
    assert.deepEqual(found, { name: 'web', ca: 'A', ...(priorRevisions === undefined ? {} : { priorRevisions }) });
  });
}

for (const [what, secret, message] of [
  [
    'that is Opaque and has no authority',
    aSecret({ 'tls.crt': 'C', 'tls.key': 'K' }, 'Opaque'),
    /is Opaque and has no ca\.crt; use the type/,
  ],
  ['of another type', aSecret({ 'ca.crt': 'A' }, 'example.com/\u202Ex'), /has the type "example\.com\/\\u\{202e\}x"; use the type/],
] as const) {
  test(`a Secret ${what} is not a bundle, and the message says what would be`, () => {
    const found = bundleOf(secret);
    assert.ok('code' in found && found.code === 'tls-unreadable');
    assert.match(found.message, message);
  });
}

test('a bundle written into a Secret equals the one that was read', () => {
  const bundle = { name: 'web', cert: 'C', key: 'K', ca: 'A' };
  assert.deepEqual(bundleOf({ metadata: { name: 'web' }, type: 'kubernetes.io/tls', data: dataOf(bundle) }), bundle);
});

test('a proxy needs a host and a port', () => {
  assert.deepEqual(proxyOf(aSecret({ host: 'proxy\n', port: '3128\n', username: 'u', password: ' p' }, 'kubernetes.io/basic-auth')), {
    host: 'proxy',
    port: 3128,
    username: 'u',
    password: ' p',
  });
  for (const texts of [{ host: 'proxy' }, { host: 'no host', port: '1' }, { host: 'proxy', port: '0' }, { host: 'proxy', port: 'x' }]) {
    assert.equal(proxyOf(aSecret(texts as Readonly<Record<string, string>>, 'kubernetes.io/basic-auth')), undefined);
  }
});
