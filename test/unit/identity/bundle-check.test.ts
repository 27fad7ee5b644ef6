import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, webcrypto } from 'node:crypto';
import { describe, it } from 'node:test';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { checkBundle } from '../../../src/identity/bundle-check.ts';
import { createKey } from '../../../src/x509/request.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { authorityOf } from '../../../src/trust/authority.ts';
import { weaknessOf } from '../../../src/x509/parts.ts';
import type { Purpose } from '../../../src/identity/bundle-check.ts';
import type { TlsBundle } from '../../../src/identity/tls-bundle.ts';
import type { TrustCode } from '../../../src/trust/errors.ts';
import { DAY, makeAuthority, makeClock } from '../trust/support/site.ts';

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const authority = makeAuthority();
const server = issueBundle(authority, 'web', {
  subject: 'web',
  hosts: ['web.example.com', '*.apps.example.com', '10.0.0.1', '::1'],
  server: true,
});
const client = issueBundle(authority, 'web', { subject: 'east', client: true });
const signer = issueBundle(authority, 'web', { subject: 'between', signing: true });
const cut = (pem: string): string => pem.slice(0, pem.length - 40);
const withLine = (pem: string, line: number, text: string): string =>
  pem
    .split('\n')
    .toSpliced(line - 1, 1, text)
    .join('\n');

/** Without its certificate or key: an undefined part is no part. */
function without(bundle: TlsBundle, ...parts: readonly ('cert' | 'key' | 'ca')[]): TlsBundle {
  return Object.fromEntries(Object.entries(bundle).filter(([part]) => !parts.some((one) => one === part))) as unknown as TlsBundle;
}

const cases: readonly {
  readonly what: string;
  readonly bundle: TlsBundle;
  readonly purpose: Purpose;
  readonly problems: readonly [TrustCode, RegExp][];
}[] = [
  { what: 'a server that lacks nothing', bundle: server, purpose: { kind: 'server', clientCa: true }, problems: [] },
  { what: 'a client that lacks nothing', bundle: client, purpose: { kind: 'client', serverCa: true }, problems: [] },
  { what: 'an authority that lacks nothing', bundle: signer, purpose: { kind: 'authority' }, problems: [] },
  { what: 'only a CA, where only that is needed', bundle: { name: 'web', ca: authority.ca }, purpose: { kind: 'trust' }, problems: [] },
  {
    what: 'no tls.key',
    bundle: without(server, 'key'),
    purpose: { kind: 'server' },
    problems: [['tls-no-key', /bundle web lacks tls\.key/]],
  },
  {
    what: 'neither',
    bundle: { name: 'web' },
    purpose: { kind: 'client', serverCa: true },
    problems: [
      ['tls-no-cert', /lacks tls\.crt/],
      ['tls-no-key', /lacks tls\.key/],
      ['tls-no-ca', /lacks ca\.crt/],
    ],
  },
  {
    what: 'no ca.crt where clients are to be verified',
    bundle: without(server, 'ca'),
    purpose: { kind: 'server', clientCa: true },
    problems: [['tls-no-ca', /ca\.crt/]],
  },
  { what: 'no ca.crt where none is needed', bundle: without(server, 'ca'), purpose: { kind: 'server' }, problems: [] },
  {
    what: "another certificate's key",
    bundle: { ...server, key: createKey() },
    purpose: { kind: 'server' },
    problems: [['tls-key-mismatch', /tls\.key is not the key/]],
  },
  {
    what: 'a certificate cut short',
    bundle: { ...server, cert: cut(server.cert) },
    purpose: { kind: 'server' },
    problems: [['tls-mangled', /tls\.crt is not PEM: .*line 1 has no END/]],
  },
  {
    what: 'a line that is no base64',
    bundle: { ...server, cert: withLine(server.cert, 4, '§§§') },
    purpose: { kind: 'server' },
    problems: [['tls-mangled', /line 4 is not base64/]],
  },
  {
    what: 'a line left out',
    bundle: { ...server, cert: server.cert.split('\n').toSpliced(3, 1).join('\n') },
    purpose: { kind: 'server' },
    problems: [['tls-mangled', /begins in line 1 cannot be read/]],
  },
  {
    what: 'a key where the certificate should be',
    bundle: { ...server, cert: server.key },
    purpose: { kind: 'server' },
    problems: [['tls-no-cert', /it contains a PRIVATE KEY/]],
  },
  {
    what: 'a certificate where the key should be',
    bundle: { ...server, key: server.cert },
    purpose: { kind: 'server' },
    problems: [['tls-no-key', /no private key/]],
  },
  {
    what: 'an empty certificate',
    bundle: { ...server, cert: '' },
    purpose: { kind: 'server' },
    problems: [['tls-no-cert', /BEGIN CERTIFICATE/]],
  },
  {
    what: 'a key cut short',
    bundle: { ...server, key: cut(server.key) },
    purpose: { kind: 'server' },
    problems: [['tls-mangled', /tls\.key is not PEM/]],
  },
  {
    what: 'a damaged key',
    bundle: { ...server, key: withLine(server.key, 2, 'A'.repeat(64)) },
    purpose: { kind: 'server' },
    problems: [['tls-mangled', /PRIVATE KEY in it is damaged/]],
  },
  {
    what: 'a key with a passphrase',
    bundle: { ...server, key: encryptedKey() },
    purpose: { kind: 'server' },
    problems: [['tls-mangled', /passphrase/]],
  },
  {
    what: "a client's certificate on a server",
    bundle: client,
    purpose: { kind: 'server' },
    problems: [['tls-wrong-purpose', /serverAuth/]],
  },
  {
    what: "a server's certificate on a client",
    bundle: server,
    purpose: { kind: 'client' },
    problems: [['tls-wrong-purpose', /clientAuth/]],
  },
  {
    what: "a server's certificate as an authority",
    bundle: server,
    purpose: { kind: 'authority' },
    problems: [['tls-not-a-ca', /CA:TRUE/]],
  },
  {
    what: 'a ca.crt that is no authority',
    bundle: { ...server, ca: client.cert },
    purpose: { kind: 'server', clientCa: true },
    problems: [['tls-not-a-ca', /ca\.crt/]],
  },
  {
    what: 'a mangled ca.crt',
    bundle: { ...server, ca: 'no certificate' },
    purpose: { kind: 'server' },
    problems: [['tls-no-cert', /ca\.crt contains no certificate/]],
  },
];

describe('checkBundle', () => {
  for (const { what, bundle, purpose, problems } of cases) {
    it(`${problems.length === 0 ? 'takes' : 'refuses'} ${what}`, () => {
      const check = checkBundle(bundle, purpose);
      const found = check.ok ? [] : check.problems;
      assert.deepEqual(
        found.map(({ code }) => code),
        problems.map(([code]) => code),
        JSON.stringify(found),
      );
      for (const [index, [, words]] of problems.entries()) assert.match(found[index]?.message ?? '', words);
    });
  }

  it('names the end of a certificate and what the clock says', () => {
    const clock = makeClock();
    const old = issueBundle(makeAuthority({ clock }), 'web', { subject: 'web', server: true }, clock);
    const late = checkBundle(old, { kind: 'server' }, () => clock() + 31 * DAY);
    assert.ok(!late.ok);
    assert.equal(late.problems[0].code, 'tls-expired');
    assert.match(late.problems[0].message, /expired at 2027-01-31T00:00:00\.000Z, and the clock here is at 2027-02-01/);
    const early = checkBundle(old, { kind: 'server' }, () => clock() - DAY);
    assert.ok(!early.ok);
    assert.equal(early.problems[0].code, 'tls-not-yet-valid');
    assert.match(early.problems[0].message, /valid from 2026-12-31T23:55:00\.000Z .*the clock here is at 2026-12-31T00:00/);
  });

  it('refuses weak keys and weak signatures', async () => {
    const rsa = await selfSigned({
      name: 'RSASSA-PKCS1-v1_5',
      hash: 'SHA-256',
      publicExponent: new Uint8Array([1, 0, 1]),
      modulusLength: 1024,
    });
    assertProblem(rsa, 'tls-weak', /RSA key of 1024 bits/);
    const sha1 = await issuedBySha1();
    assertProblem(sha1, 'tls-weak', /signed with SHA-1/);
  });

  it('refuses every kind of key that TLS 1.3 has no use for', () => {
    const keys = [
      generateKeyPairSync('ec', { namedCurve: 'secp224r1' }),
      generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
      generateKeyPairSync('ec', { namedCurve: 'brainpoolP160r1' }),
      generateKeyPairSync('rsa', { modulusLength: 2_040 }),
      generateKeyPairSync('x25519'),
      generateKeyPairSync('dsa', { modulusLength: 1_024 }),
    ];
    for (const { publicKey } of keys) assert.notEqual(weaknessOf(publicKey), undefined, String(publicKey.asymmetricKeyType));
    for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
      assert.equal(weaknessOf(generateKeyPairSync('ec', { namedCurve }).publicKey), undefined);
    }
    assert.equal(weaknessOf(generateKeyPairSync('ed25519').publicKey), undefined);
    const withExponent = (e: Buffer): string | undefined => {
      const n = Buffer.alloc(384, 0xff).toString('base64url');
      return weaknessOf(createPublicKey({ key: { kty: 'RSA', n, e: e.toString('base64url') }, format: 'jwk' }));
    };
    assert.equal(withExponent(Buffer.from([1, 0, 1])), undefined);
    assert.match(withExponent(Buffer.alloc(384, 0x7f)) ?? '', /public exponent has 3071 bits/);
  });

  it('takes a certificate whose issuer has no name for what it is, a foreign one', async () => {
    const keys = await webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: '',
      keys,
      signingAlgorithm: { ...ECDSA, hash: 'SHA-256' },
    });
    const check = checkBundle({ ...client, cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) }, { kind: 'client' });
    assert.ok(check.ok);
    assert.equal(check.leaf?.issuer, '');
    const warned = checkBundle({ ...client, cert: client.cert + certificate.toString('pem') }, { kind: 'client' });
    assert.deepEqual(warned.ok && warned.warnings.map(({ code }) => code), ['tls-foreign-ca']);
  });

  it('looks at the dates of those that count', () => {
    const clock = makeClock();
    const root = makeAuthority({ clock, days: 20 });
    const between = issueBundle(root, 'between', { subject: 'between', signing: true, days: 10 }, clock);
    const below = authorityOf(between, 'between', clock);
    const leaf = issueBundle(below, 'web', { subject: 'web', server: true, days: 10 }, clock);
    const long = issueBundle(root, 'web', { subject: 'web', server: true, days: 20 }, clock);
    const mixed = { ...long, cert: long.cert + between.cert };
    const codes = (bundle: TlsBundle, days: number, dates?: 'leaf' | 'none'): readonly string[] => {
      const purpose: Purpose = { kind: 'server', clientCa: true, ...(dates === undefined ? {} : { dates }) };
      const check = checkBundle(bundle, purpose, () => clock() + days * DAY);
      return check.ok ? [] : check.problems.map(({ code }) => code);
    };
    assert.deepEqual([codes(mixed, 15), codes(mixed, 15, 'leaf'), codes(mixed, 15, 'none')], [['tls-expired'], [], []]);
    assert.deepEqual([codes(leaf, 15, 'leaf'), codes(leaf, 15, 'none')], [['tls-expired'], []]);
    assert.deepEqual([codes(leaf, -1, 'leaf'), codes(mixed, -1, 'none')], [['tls-not-yet-valid'], []]);
  });

  it('takes one good authority beside an old one, and warns of the old one', () => {
    const clock = makeClock();
    const old = makeAuthority({ clock, days: 10 });
    const current = makeAuthority({ clock });
    const bundle = { ...issueBundle(current, 'web', { subject: 'web', server: true }, clock), ca: old.ca + current.ca };
    const check = checkBundle(bundle, { kind: 'server', clientCa: true }, () => clock() + 20 * DAY);
    assert.ok(check.ok);
    assert.deepEqual(
      check.warnings.map(({ code }) => code),
      ['tls-expired'],
    );
  });

  it('warns of a chain in the wrong order', () => {
    const check = checkBundle({ ...server, cert: server.cert + client.cert }, { kind: 'server' });
    assert.ok(check.ok);
    assert.match(check.warnings[0]?.message ?? '', /certificate 2 is not the issuer of certificate 1/);
  });
});

function assertProblem(bundle: TlsBundle, code: TrustCode, words: RegExp): void {
  const check = checkBundle(bundle, { kind: 'server' });
  assert.ok(!check.ok);
  assert.deepEqual(
    check.problems.map((problem) => problem.code),
    [code],
  );
  assert.match(check.problems[0].message, words);
}

function encryptedKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }).toString();
}

/** Ours signs nothing like this. */
async function selfSigned(algorithm: RsaHashedKeyGenParams): Promise<TlsBundle> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({ name: 'CN=web', keys, signingAlgorithm: algorithm });
  return { name: 'web', cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

async function issuedBySha1(): Promise<TlsBundle> {
  const issuer = await webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
  const keys = await webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    subject: 'CN=web',
    issuer: 'CN=old authority',
    publicKey: keys.publicKey,
    signingKey: issuer.privateKey,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-1' },
    extensions: [new BasicConstraintsExtension(false)],
  });
  return { name: 'web', cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

type RsaHashedKeyGenParams = webcrypto.RsaHashedKeyGenParams;

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return `-----BEGIN PRIVATE KEY-----\n${(der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END PRIVATE KEY-----\n`;
}
